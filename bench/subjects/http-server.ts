import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import { readGiven } from '../given.ts'
import { enqueueOrder } from './stellwerk-orders.ts'
import { startWorkers } from './stellwerk-workers.ts'

// The floor of an API: node:http, JSON, and the statement that Stellwerk enqueues with.

const { url } = readGiven()
const enqueuer = Promise.withResolvers<Enqueuer>()
await startWorkers(url, { slots: 0, onEnqueuer: enqueuer.resolve })
const { enqueue, enqueueAll } = await enqueuer.promise
const order = await enqueueOrder(url)

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const jobs = JSON.parse(await textOf(request)) as readonly { kind: string; payload: { i: number } }[]
  const orders = jobs.map(({ kind, payload }) => order(kind, payload.i))
  const enqueued = orders.length === 1 ? await enqueue(orders[0]!) : await enqueueAll(orders)
  const text = JSON.stringify(
    orders.length === 1 ? { ...enqueued, job: undefined, errors: [] } : { created: orders.length, errors: [] },
  )
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}
const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
