import { ClientError, networkError, throwFailure, type GraphQLFailure } from './client-error.ts'
import { silentTooLongMs, type Connection, type Operation, type Result } from './connection.ts'
import { idleSignal } from './idle-signal.ts'

type Message =
  | { readonly type: 'connection_ack' | 'complete' | 'ping' | 'pong' }
  | { readonly type: 'next'; readonly payload: Result<never> }
  | { readonly type: 'error'; readonly payload: readonly GraphQLFailure[] }

const pingEveryMs = 10_000
/** The service closes with these where coming back with the same token is of no use. */
const refusals: Readonly<Record<number, string>> = { 4401: 'UNAUTHENTICATED', 4403: 'UNAUTHENTICATED' }

/** A subscription over a WebSocket of its own (graphql-transport-ws). */
export async function* streamBySocket<Data>(
  { url, token }: Connection,
  operation: Operation,
  signal: AbortSignal,
): AsyncGenerator<Result<Data>, void> {
  const authorization = `Bearer ${await token()}`
  const socket = new WebSocket(url.replace(/^http/, 'ws'), 'graphql-transport-ws')
  const idle = idleSignal(silentTooLongMs)
  const received: (Message | Error)[] = []
  let wake = (): void => undefined
  const add = (one: Message | Error): void => {
    received.push(one)
    wake()
  }
  const send = (message: object): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message))
  }
  const cut = (): void => add(networkError('The socket was cut.'))
  const pings = setInterval(() => send({ type: 'ping' }), pingEveryMs)

  socket.addEventListener('open', () => send({ type: 'connection_init', payload: { authorization } }))
  socket.addEventListener('message', ({ data }) => {
    idle.heard()
    add(JSON.parse(String(data)) as Message)
  })
  socket.addEventListener('close', ({ code, reason }) => add(closedWith(code, reason)))
  socket.addEventListener('error', cut)
  for (const each of [signal, idle.signal]) each.addEventListener('abort', cut)

  try {
    for (;;) {
      const message = received.shift()
      if (message === undefined) {
        signal.throwIfAborted()
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      if (message instanceof Error) throw message
      switch (message.type) {
        case 'connection_ack':
          send({ id: '1', type: 'subscribe', payload: operation })
          break
        case 'next':
          yield message.payload
          break
        case 'error':
          throwFailure(message.payload)
          break
        case 'complete':
          return
        case 'ping':
          send({ type: 'pong' })
          break
        case 'pong':
      }
    }
  } finally {
    idle.end()
    clearInterval(pings)
    signal.removeEventListener('abort', cut)
    socket.close(1000)
  }
}

/** The reason begins with the code of the error, where the service gave one. */
function closedWith(code: number, reason: string): ClientError {
  const [, named] = /^([A-Z_]+):/.exec(reason) ?? []
  const refusal = named ?? refusals[code]
  return refusal === undefined ? networkError('The socket was cut.') : new ClientError(refusal, reason)
}
