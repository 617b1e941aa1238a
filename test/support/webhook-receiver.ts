import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

/** A request as it came in. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
  /** Monotonic milliseconds. */
  readonly at: number
}

export interface WebhookReceiver {
  readonly url: string
  readonly port: number
  readonly received: Received[]
  /** Connections that were ever opened. */
  connections(): number
  /** The most requests that were in hand at once. */
  most(): number
  /** What is answered, given how many requests came before on this path; `true`: 200. May answer by itself, or never. */
  answer: (request: Received, response: ServerResponse, nth: number) => number | Promise<number> | void
  stop(): Promise<void>
}

/** A receiver of webhooks on a loopback port, over plain HTTP. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  let connections = 0
  let inHand = 0
  let most = 0
  const server = createServer((request, response) => {
    inHand += 1
    most = Math.max(most, inHand)
    response.once('close', () => (inHand -= 1))
    void take(request, response)
  })
  server.on('connection', (socket) => {
    connections += 1
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const at = performance.now()
    const body = await text(request).catch(() => null)
    if (body === null) return
    const nth = receiver.received.filter(({ path }) => path === request.url).length
    const received = { path: request.url!, headers: request.headers, body, event: JSON.parse(body || 'null'), at }
    receiver.received.push(received)
    const status = await receiver.answer(received, response, nth)
    if (status !== undefined) response.writeHead(status).end()
  }

  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    received: [],
    connections: () => connections,
    most: () => most,
    answer: () => 200,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

/** Whether the independent implementation takes it; its clock tolerance of five minutes included. */
export function verifies(secret: string, { headers, body }: Pick<Received, 'headers' | 'body'>): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
