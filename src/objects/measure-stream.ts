import { createHash } from 'node:crypto'
import { freePassed } from './free-passed.ts'
import { ObjectTooLarge, ObjectTooSmall, type PutLimits } from './object-store.ts'

/** Counts and hashes bytes while they pass on. */
export interface Measure {
  /** For `pipeline`: throws ObjectTooLarge and ObjectTooSmall. */
  through(source: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  result(): { readonly sizeBytes: number; readonly sha256: string }
}

export function measureStream({ maxBytes, minBytes = 0 }: Pick<PutLimits, 'maxBytes' | 'minBytes'>): Measure {
  const hash = createHash('sha256')
  const free = freePassed()
  let sizeBytes = 0
  return {
    async *through(source) {
      for await (const chunk of source) {
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) throw new ObjectTooLarge(maxBytes)
        hash.update(chunk)
        yield chunk
        free(chunk.length)
      }
      if (sizeBytes < minBytes) throw new ObjectTooSmall(minBytes, sizeBytes)
    },
    result: () => ({ sizeBytes, sha256: hash.digest('hex') }),
  }
}
