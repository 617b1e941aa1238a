import { WebSocket } from 'ws'

export interface SocketMessage {
  readonly cursor: string
  readonly updates: readonly { readonly event: { readonly revision: number } | null; readonly jobId: string }[]
  readonly resync: boolean
}

/** A reader of `jobs` over a WebSocket of its own, with no client library between. */
export interface SocketReader {
  readonly socket: WebSocket
  /** Ends with the socket, whatever closed it. */
  readonly closed: Promise<void>
}

/** With variables `after` and `window`. */
export function subscriptionOf(fields = ''): string {
  return `subscription ($after: String, $window: Duration!) {
    jobs(after: $after, window: $window, filter: { kind: ["chore"] }) { cursor resync updates { jobId event { revision } ${fields} } } }`
}

interface ReaderOptions {
  readonly url: string
  readonly token: string
  readonly after: string | null
  readonly window?: string
  /** More than the cursor, the jobs' ids and revisions. */
  readonly fields?: string
  readonly onMessage: (message: SocketMessage) => void
}

/** Resolves once it has subscribed. */
export async function openReader({
  url,
  token,
  after,
  window = 'PT0.02S',
  fields = '',
  onMessage,
}: ReaderOptions): Promise<SocketReader> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const acknowledged = Promise.withResolvers<void>()
  socket.on('error', () => acknowledged.reject(new Error('The socket could not be opened.')))
  socket.once('close', () => acknowledged.reject(new Error('The socket was closed.')))
  socket.on('open', () => {
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }))
  })
  socket.on('message', (data: Buffer) => {
    const { type, payload } = JSON.parse(data.toString()) as {
      type: string
      payload: { data?: { jobs: SocketMessage } }
    }
    if (type === 'connection_ack') acknowledged.resolve()
    else if (type === 'next') {
      if (payload.data == null) throw new Error(data.toString())
      onMessage(payload.data.jobs)
    } else if (type === 'error') throw new Error(data.toString())
  })
  await acknowledged.promise
  socket.send(
    JSON.stringify({
      id: '1',
      type: 'subscribe',
      payload: { query: subscriptionOf(fields), variables: { after, window } },
    }),
  )
  return { socket, closed }
}
