import { request, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { Service } from '../support/service.ts'

interface Update {
  readonly type: string
  readonly cursor: string
  readonly event: { readonly type: string } | null
  readonly job: { readonly status: string } | null
}

/** One stream of server-sent events. */
export interface Watcher {
  /** The next update; null when the stream has ended, by whoever. */
  next(): Promise<Update | null>
  /** Whether the server said that this was all. */
  completed(): boolean
  leave(): void
}

/** Watches a job, from the start or after a cursor. */
export async function watch(service: Service, id: string, after: string | null = null): Promise<Watcher> {
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    authorization: `Bearer ${await service.token()}`,
  }
  const query =
    'subscription ($id: ID!, $after: String) { job(id: $id, after: $after) { type cursor event { type } job { status } } }'
  const call = request(`${await service.url()}/graphql`, { method: 'POST', headers, agent: false })
  call.end(JSON.stringify({ query, variables: { id, after } }))
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    call.once('response', resolve).once('error', reject),
  )
  call.on('error', () => {})
  response.on('error', () => {})
  if (response.statusCode !== 200) throw new Error(`The stream was refused with ${response.statusCode}.`)
  const lines = createInterface(response)[Symbol.asyncIterator]()
  let completed = false
  return {
    async next() {
      for (;;) {
        const line = await lines.next().catch(() => ({ done: true as const, value: undefined }))
        if (line.done === true) return null
        if (line.value === 'event: complete') completed = true
        const [, data] = /^data: (.+)$/.exec(line.value) ?? []
        if (data !== undefined) return (JSON.parse(data) as { data: { job: Update } }).data.job
      }
    },
    completed: () => completed,
    leave: () => call.destroy(),
  }
}
