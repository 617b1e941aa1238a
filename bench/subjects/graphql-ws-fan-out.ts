import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { useServer } from 'graphql-ws/use/ws'
import { createPubSub, createSchema } from 'graphql-yoga'
import { WebSocketServer } from 'ws'

// What many would build: graphql-ws on ws, a pub/sub in the process, one topic. Nothing is read, nobody is asked for a token.

interface Told {
  readonly type: 'EVENT'
  readonly cursor: string
  readonly jobId: string
  readonly event: { readonly type: string; readonly revision: number; readonly at: string }
}

const pubSub = createPubSub<{ job: [Told] }>()
const schema = createSchema({
  typeDefs: `
    type Query { none: Boolean }
    type JobEvent { type: String! revision: Int! at: String! }
    type JobUpdate { type: String! cursor: String! jobId: ID! event: JobEvent }
    type Subscription { job: JobUpdate! }`,
  resolvers: { Subscription: { job: { subscribe: () => pubSub.subscribe('job'), resolve: (told: Told) => told } } },
})

let revision = 0
const server = createServer((request, response) => {
  response.end()
  for (let count = Number(request.url!.split('/').at(-1)); count > 0; count -= 1) {
    revision += 1
    const jobId = 'job_0197f3c2-0000-7000-8000-000000000000'
    pubSub.publish('job', {
      type: 'EVENT',
      cursor: `job.0197f3c2-0000-7000-8000-000000000000.${revision}`,
      jobId,
      event: { type: 'REPRIORITIZED', revision, at: new Date().toISOString() },
    })
  }
})
/** Its default of 12 s ends the sockets of clients that answered in time, when a burst keeps the process from reading their answers. */
const keepAliveMs = 120_000
useServer({ schema }, new WebSocketServer({ server, path: '/graphql' }), keepAliveMs)
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
