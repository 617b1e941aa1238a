import { execFile } from 'node:child_process'
import { documentLimits } from '../../../jobs/document-limits.ts'

/** With more than one thread tesseract takes two to four times as long (tesseract-ocr/tesseract#3109). */
const environment = { OMP_THREAD_LIMIT: '1', LC_ALL: 'C' }

/** Runs a program within a page's time and memory. Rejects with what it said last. */
export async function runProgram(path: string, args: readonly string[]): Promise<void> {
  const kilobytes = String(Math.floor(documentLimits.memoryBytes / 1024))
  const limited = ['-c', 'ulimit -v "$1"; shift; exec "$@"', 'sh', kilobytes, path, ...args]
  const options = { timeout: documentLimits.pageMs, killSignal: 'SIGKILL', env: environment } as const
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  execFile('/bin/sh', limited, options, (error, _, said) => {
    if (error === null) resolve()
    else reject(new Error(`${path} ended with ${error.signal ?? error.code}: ${said.trim().split('\n').at(-1) ?? ''}.`))
  })
  return promise
}
