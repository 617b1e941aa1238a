import { fork, type ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentLimits } from '../../../jobs/document-limits.ts'
import type { ReaderMessage, Reading, ReadingOrder } from './reader-protocol.ts'

export interface ReaderOptions {
  readonly signal: AbortSignal
  readonly onPage: (done: number, total: number) => void
  /** The longest silence of the reader. */
  readonly pageMs?: number
  readonly memoryBytes?: number
  /** The program that reads. */
  readonly module?: string
}

/** The reader was ended, or ended by itself without an answer: less of the document may work. */
export class ReaderKilled extends Error {
  override readonly name = 'ReaderKilled'
}

const reader = fileURLToPath(new URL('reader.ts', import.meta.url))
const heapMegabytes = 768
/** The program's own time limit comes first, with a page that is noted instead of a document that is given up. */
const marginMs = 15_000
const lookEveryMs = 250

/**
 * Reads a document in a process of its own, with an empty environment and a limit on its memory. It and all that it started are
 * killed when it says nothing for a page's time, takes too much memory, or the signal fires.
 * Throws DocumentError (nobody can read it), ReaderKilled, or the signal's reason.
 */
export async function runReader(order: ReadingOrder, options: ReaderOptions): Promise<Reading> {
  const {
    signal,
    onPage,
    pageMs = documentLimits.pageMs + marginMs,
    memoryBytes = documentLimits.memoryBytes,
  } = options
  signal.throwIfAborted()
  const child = fork(options.module ?? reader, [], {
    execArgv: [`--max-old-space-size=${heapMegabytes}`, '--disable-warning=ExperimentalWarning'],
    env: {},
    // A group of its own, so that the programs that it starts end with it.
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let outOfMemory = false
  // What else it says is the stack of a machine's own files: nobody's business.
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (outOfMemory ||= /out of memory/i.test(text)))
  const { promise, resolve, reject } = Promise.withResolvers<Reading>()
  const silence = setTimeout(() => reject(new ReaderKilled(`Reading a page took longer than ${pageMs} ms.`)), pageMs)
  const look = setInterval(() => {
    void residentBytes(child.pid).then((bytes) => {
      if (bytes > memoryBytes)
        reject(new ReaderKilled(`Reading took more than ${Math.round(memoryBytes / 1024 / 1024)} MiB of memory.`))
    })
  }, lookEveryMs)
  const onAbort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })

  child.on('message', (message: ReaderMessage) => {
    silence.refresh()
    if (message.type === 'page') onPage(message.done, message.total)
    else if (message.type === 'read') resolve(message.reading)
    else if (message.type === 'refused') reject(new DocumentError(message.code, message.message))
    else reject(new ReaderKilled(`Reading failed: ${message.message}`))
  })
  // For good: an error that nobody hears ends the service.
  child.on('error', reject)
  // After the last message, which may still be on its way when the process is gone.
  child.once('close', (code, ended) => {
    const why = outOfMemory ? 'The reader ran out of memory.' : `The reader ended with ${ended ?? code} and no answer.`
    reject(new ReaderKilled(why))
  })
  try {
    // Where no process could be started there is nobody to tell.
    if (child.pid !== undefined) child.send(order)
    return await promise
  } finally {
    clearTimeout(silence)
    clearInterval(look)
    signal.removeEventListener('abort', onAbort)
    kill(child)
  }
}

function kill(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // It has ended, and its group with it.
  }
}

/** 0 where the system does not tell; there the heap's limit and the time are all there is. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '')
  return Number(text.split(' ')[1] ?? 0) * 4_096
}
