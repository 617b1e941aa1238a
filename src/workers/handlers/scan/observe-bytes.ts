import { createHash } from 'node:crypto'
import { fileTypeFromBuffer } from 'file-type'
import { freePassed } from '../../../objects/free-passed.ts'

/** What the bytes say of themselves while they pass on to the scanner. */
export interface ObservedBytes {
  through(source: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  passed(): number
  /** Only once all have passed. */
  result(): Promise<{ readonly sha256: string; readonly sizeBytes: number; readonly detectedType: string | null }>
}

/** Enough for what is told by signatures, also behind the first entries of an office file. */
const headBytes = 64 * 1024

/** Counts and hashes bytes, and keeps the first ones to find their type. `onPassed` hears of each piece. */
export function observeBytes(onPassed: (bytes: number) => void = () => undefined): ObservedBytes {
  const hash = createHash('sha256')
  const free = freePassed()
  const head: Buffer[] = []
  let sizeBytes = 0
  return {
    async *through(source) {
      for await (const chunk of source) {
        if (sizeBytes < headBytes) head.push(Buffer.from(chunk.subarray(0, headBytes - sizeBytes)))
        sizeBytes += chunk.length
        hash.update(chunk)
        onPassed(sizeBytes)
        yield chunk
        free(chunk.length)
      }
    },
    passed: () => sizeBytes,
    async result() {
      const sha256 = hash.digest('hex')
      return { sha256, sizeBytes, detectedType: await typeOf(Buffer.concat(head)) }
    },
  }
}

/** By its magic bytes; text has none. Null: nobody knows. */
async function typeOf(head: Buffer): Promise<string | null> {
  // What is broken has no type: that is no fault of the scan.
  const found = await fileTypeFromBuffer(head).catch(() => undefined)
  return found?.mime ?? (isText(head) ? 'text/plain' : null)
}

function isText(head: Buffer): boolean {
  try {
    // The last character may be cut.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    // oxlint-disable-next-line no-control-regex
    return !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text)
  } catch {
    return false
  }
}
