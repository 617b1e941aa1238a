import { networkError, throwFailure } from './client-error.ts'
import { silentTooLongMs, type Connection, type Operation, type Result } from './connection.ts'
import { idleSignal } from './idle-signal.ts'

/** A subscription over server-sent events: a POST whose answer goes on. */
export async function* streamByEvents<Data>(
  { url, token }: Connection,
  operation: Operation,
  signal: AbortSignal,
): AsyncGenerator<Result<Data>, void> {
  const idle = idleSignal(silentTooLongMs)
  const ended = new AbortController()
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${await token()}`,
      },
      body: JSON.stringify(operation),
      signal: AbortSignal.any([signal, idle.signal, ended.signal]),
    })
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true || response.body === null) {
      throwFailure(((await response.json()) as Result<Data>).errors)
      throw networkError(`The service answered ${response.status} instead of a stream.`)
    }
    for await (const { event, data } of eventsOf(response.body, idle.heard)) {
      if (event === 'complete') return
      if (event === 'next') yield JSON.parse(data) as Result<Data>
    }
  } catch (error) {
    throw networkError('The stream was cut.', error)
  } finally {
    idle.end()
    ended.abort()
  }
  throw networkError('The stream was cut.')
}

/** Events are separated by an empty line; comments, which begin with a colon, only show that the service lives. */
async function* eventsOf(body: ReadableStream<Uint8Array>, heard: () => void) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    const parts = (text + decoder.decode(value, { stream: true })).split('\n\n')
    text = parts.pop()!
    for (const part of parts) {
      const field = (name: string): string => new RegExp(`^${name}: ?(.*)$`, 'm').exec(part)?.[1] ?? ''
      yield { event: field('event'), data: field('data') }
    }
  }
}
