import type { IncomingMessage } from 'node:http'
import { HttpError } from './send.ts'

/** Reads a body, counting while it comes: what it says about its length is not believed. Throws HttpError 413. */
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
  request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
  request.on('error', reject)
  return promise
}
