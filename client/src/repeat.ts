import { backOff } from './backoff.ts'
import { isTransient } from './client-error.ts'
import type { Connection, Operation } from './connection.ts'
import { send } from './send.ts'

const mostTries = 8

/** Sends a call that may be repeated, again while the service cannot be reached. Throws ClientError. */
export async function sendRepeatedly<Data>(
  connection: Connection,
  operation: Operation,
  signal = new AbortController().signal,
): Promise<Data> {
  for (let failures = 0; ; failures++) {
    try {
      return await send<Data>(connection, operation, signal)
    } catch (error) {
      if (!isTransient(error) || failures === mostTries - 1) throw error
      await backOff(failures, error.retryAfter, signal)
    }
  }
}
