import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSchema, createYoga } from 'graphql-yoga'
import { Pool } from 'pg'
import { readGiven } from '../given.ts'

// graphql-yoga with its defaults, a pool of pg with its own, an INSERT a mutation. Nobody is asked for a token.

const pool = new Pool({ connectionString: readGiven().url })
const schema = createSchema({
  typeDefs: `
    scalar JSON
    type Query { none: Boolean }
    type Enqueued { id: ID errors: [String!]! }
    type Mutation { enqueue(kind: String!, payload: JSON!): Enqueued! }`,
  resolvers: {
    Mutation: {
      async enqueue(_: unknown, { kind, payload }: { kind: string; payload: unknown }) {
        const { rows } = await pool.query<{ id: string }>({
          name: 'enqueue',
          text: 'insert into plain_job (kind, payload) values ($1, $2) returning id',
          values: [kind, JSON.stringify(payload)],
        })
        return { id: rows[0]!.id, errors: [] }
      },
    },
  },
})
const yoga = createYoga({ schema })
const server = createServer((request, response) => void yoga(request, response))
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
