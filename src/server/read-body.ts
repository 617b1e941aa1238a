import type { IncomingMessage } from 'node:http'
import { HttpError } from './send.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a body, counting while it comes: what it says about its length is not believed. Throws HttpError 413, 400 where it is no UTF-8. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= mostBytes) {
      chunks.push(chunk)
      return
    }
    request.pause()
    reject(
      new HttpError(413, 'BAD_USER_INPUT', `The body is larger than ${mostBytes} bytes. Send less at once.`, {
        connection: 'close',
      }),
    )
  })
  request.on('end', () => {
    try {
      resolve(utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    } catch {
      // Decoded all the same, bad bytes would become U+FFFD: another text than was sent.
      reject(new HttpError(400, 'BAD_USER_INPUT', 'The body is not valid UTF-8. Send JSON in UTF-8.'))
    }
  })
  request.on('error', reject)
  return promise
}
