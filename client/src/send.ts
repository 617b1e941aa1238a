import { networkError, throwFailure } from './client-error.ts'
import type { Connection, Operation, Result } from './connection.ts'

/** Sends a query or a mutation once, and answers its data. Throws ClientError. */
export async function send<Data>(
  { url, token }: Connection,
  operation: Operation,
  signal?: AbortSignal,
): Promise<Data> {
  const authorization = `Bearer ${await token()}`
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify(operation),
      signal: signal ?? null,
    })
    const { data, errors } = (await response.json()) as Result<Data>
    throwFailure(errors)
    return data!
  } catch (error) {
    signal?.throwIfAborted()
    throw networkError('The service did not answer.', error)
  }
}
