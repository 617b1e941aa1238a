import { setTimeout as wait } from 'node:timers/promises'
import { StreamError } from '../events/stream-error.ts'
import type { Stream } from '../events/stream.ts'
import { ApiError } from './api-error.ts'

/** A refusal comes with the first look at the journal; a stream that goes on from a cursor may then be silent for hours. */
const refusedWithinMs = 500

/**
 * Hands a stream on once it is open. Throws NOT_FOUND or BAD_USER_INPUT, as the answer to the operation, where it cannot be:
 * an error after that would only cut the stream. `speaksAtOnce`: its first message is its present state.
 */
export async function openStream<Message>(
  stream: Stream<Message>,
  { speaksAtOnce }: { readonly speaksAtOnce: boolean },
): Promise<Stream<Message>> {
  const first = stream.next().catch((error: unknown) => {
    throw error instanceof StreamError ? topLevel(error) : error
  })
  await (speaksAtOnce ? first : Promise.race([first, wait(refusedWithinMs, undefined, { ref: false })]))
  let begun = false
  const opened: Stream<Message> = {
    next() {
      if (begun) return stream.next()
      begun = true
      return first
    },
    ready: () => (begun ? stream.ready() : undefined),
    listen: (hearer) => begun && stream.listen(hearer),
    return: () => stream.return(),
    [Symbol.asyncIterator]: () => opened,
  }
  return opened
}

function topLevel({ code, message }: StreamError): ApiError {
  return code === 'NOT_FOUND'
    ? new ApiError('NOT_FOUND', message)
    : new ApiError('BAD_USER_INPUT', message, { reason: 'INVALID' })
}
