import { backOff } from './backoff.ts'
import { ClientError, isTransient, throwFailure } from './client-error.ts'
import type { Connection, OpenStream, Operation } from './connection.ts'

/**
 * The messages of a subscription over any number of reconnects; `operation` is asked before each, so that it can go on behind
 * the last message. Ends when the service says that this was all, quietly by `signal`. Throws ClientError where coming back is
 * of no use.
 */
export async function* reopen<Data>(
  connection: Connection,
  openStream: OpenStream,
  operation: () => Operation,
  signal: AbortSignal,
): AsyncGenerator<Data, void> {
  let failures = 0
  while (!signal.aborted) {
    let heard = false
    try {
      for await (const { data, errors } of openStream<Data>(connection, operation(), signal)) {
        throwFailure(errors)
        failures = 0
        heard = true
        yield data!
        if (signal.aborted) return
      }
      return
    } catch (error) {
      if (signal.aborted) return
      const code = error instanceof ClientError ? error.code : null
      // Once: a new token that is expired too will not get better.
      const isRenewed = code === 'TOKEN_EXPIRED' && connection.renewsToken && failures === 0
      // The token lost a right under way: what is left of it is seen when coming back.
      const lostRight = code === 'FORBIDDEN' && heard
      const mayComeBack = isTransient(error) || isRenewed || lostRight
      if (!mayComeBack) throw error
      await backOff(failures++, (error as ClientError).retryAfter, signal)
    }
  }
}
