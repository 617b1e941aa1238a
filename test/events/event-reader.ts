import { request, type IncomingMessage } from 'node:http'
import { subscriptionOf, type SocketMessage } from './socket-reader.ts'

/** A reader of `jobs` by server-sent events. It reads nothing before `read`. */
export interface EventReader {
  read(): void
  close(): void
}

interface ReaderOptions {
  readonly url: string
  readonly token: string
  readonly after: string | null
  readonly fields?: string
  readonly onMessage: (message: SocketMessage) => void
}

/** Resolves once the stream is open. */
export async function openEventReader({ url, token, after, fields, onMessage }: ReaderOptions): Promise<EventReader> {
  const sent = request(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` },
  })
  const opened = new Promise<IncomingMessage>((resolve, reject) => sent.on('response', resolve).on('error', reject))
  sent.end(JSON.stringify({ query: subscriptionOf(fields), variables: { after, window: 'PT0.02S' } }))
  const response = await opened
  if (response.statusCode !== 200) throw new Error(`The stream was refused: ${response.statusCode}.`)
  response.on('error', () => undefined)
  return {
    read() {
      let rest = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        const messages = (rest + text).split('\n\n')
        rest = messages.pop()!
        for (const message of messages) {
          const data = /^event: next\ndata: (.*)$/.exec(message)?.[1]
          if (data !== undefined) onMessage((JSON.parse(data) as { data: { jobs: SocketMessage } }).data.jobs)
        }
      })
    },
    close: () => void response.destroy(),
  }
}
