import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import {
  GraphQLEnumType,
  GraphQLError,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
} from 'graphql'
import { createClient, type Client } from 'graphql-ws'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { scopes, type Scope } from '../../src/jobs/permissions.ts'
import { mintApiKey } from '../../src/resolvers/mint-api-key.ts'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { findTenantIds } from '../../src/resolvers/find-tenant-ids.ts'
import { createHealth } from '../../src/resolvers/health.ts'
import { createApi, type ApiDeps } from '../../src/server/api.ts'
import { createAuthenticate, type Authenticate } from '../../src/server/auth.ts'
import type { Call } from '../../src/server/call.ts'
import { createHttpServer, type HttpServer, type HttpServerDeps } from '../../src/server/http.ts'
import { createVerifyJwt } from '../../src/server/verify-jwt.ts'
import type { TestDatabase } from '../support/database.ts'

export const jwtSecret = 'a secret of tests that is long enough for HS256'

/** What is to be seen from outside of the schema's resolvers. */
export interface Seen {
  mutations: number
  openTicks: number
}

interface TestContext {
  readonly call: Call
}

/** A small schema that shows the edge's doings: who is calling, what is thrown, what streams. */
export function testSchema(seen: Seen, thrown: () => unknown = () => new Error('unset')): GraphQLSchema {
  const node: GraphQLObjectType = new GraphQLObjectType({
    name: 'Node',
    fields: () => ({ id: { type: GraphQLID, resolve: () => 'n' }, node: { type: node, resolve: () => ({}) } }),
  })
  const pair = new GraphQLInputObjectType({
    name: 'Pair',
    fields: { name: { type: GraphQLString }, number: { type: GraphQLInt } },
  })
  const color = new GraphQLEnumType({ name: 'Color', values: { RED: {}, GREEN: {} } })
  const caller = ({ call }: TestContext) => call.caller
  return new GraphQLSchema({
    types: [new GraphQLScalarType({ name: 'JSON' })],
    query: new GraphQLObjectType<unknown, TestContext>({
      name: 'Query',
      fields: {
        who: { type: GraphQLString, resolve: (_, _args, context) => caller(context)?.principal.id },
        kind: { type: GraphQLString, resolve: (_, _args, context) => caller(context)?.principal.kind },
        scopes: {
          type: new GraphQLList(GraphQLString),
          resolve: (_, _args, context) => [...(caller(context)?.scopes ?? [])],
        },
        tenants: {
          type: new GraphQLList(GraphQLString),
          resolve(_, _args, context) {
            const ids = caller(context)?.tenantIds
            return ids === 'all' ? ['all'] : ids === undefined ? null : [...ids]
          },
        },
        echo: {
          type: GraphQLInt,
          args: { number: { type: new GraphQLNonNull(GraphQLInt) } },
          resolve: (_, { number }) => number,
        },
        pair: {
          type: GraphQLString,
          args: {
            input: { type: new GraphQLNonNull(pair) },
            number: { type: new GraphQLNonNull(GraphQLInt) },
            color: { type: new GraphQLNonNull(color) },
          },
          resolve: () => 'ok',
        },
        node: { type: node, resolve: () => ({}) },
        fail: {
          type: GraphQLString,
          resolve() {
            throw thrown()
          },
        },
      },
    }),
    mutation: new GraphQLObjectType<unknown, TestContext>({
      name: 'Mutation',
      fields: {
        change: { type: GraphQLInt, resolve: () => ++seen.mutations },
        failToChange: {
          type: GraphQLString,
          resolve() {
            throw thrown()
          },
        },
      },
    }),
    subscription: new GraphQLObjectType<unknown, TestContext>({
      name: 'Subscription',
      fields: {
        count: {
          type: GraphQLInt,
          args: { to: { type: new GraphQLNonNull(GraphQLInt) } },
          subscribe: (_, { to }) => counting(to),
          resolve: (value) => value,
        },
        silence: { type: GraphQLInt, subscribe: () => silence(seen), resolve: (value) => value },
        refused: {
          type: GraphQLInt,
          subscribe() {
            throw new GraphQLError('There is no such thing.', { extensions: { code: 'NOT_FOUND' } })
          },
        },
      },
    }),
  })
}

async function* counting(to: number) {
  for (let count = 1; count <= to; count++) yield count
}

/** Opens with one message and then never has another; knows when it is let go. */
function silence(seen: Seen): AsyncIterableIterator<number> {
  seen.openTicks++
  let left: (() => void) | undefined
  let first = true
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      if (first) {
        first = false
        return Promise.resolve({ done: false, value: 0 })
      }
      return new Promise((resolve) => (left = () => resolve({ done: true, value: undefined })))
    },
    async return() {
      seen.openTicks--
      left?.()
      return { done: true, value: undefined }
    },
  }
}

export interface TestServer {
  readonly url: string
  readonly server: HttpServer
  readonly authenticate: Authenticate
  readonly seen: Seen
  /** Lines of the log. */
  readonly lines: string[]
}

const open = new Set<HttpServer>()

type ServeDeps = Omit<HttpServerDeps & ApiDeps, 'config' | 'api'>
type ServeConfig = HttpServerDeps['config'] & ApiDeps['config'] & { readonly api: boolean }

/** Serves the small schema on a free port. */
export async function serve(
  database: TestDatabase,
  {
    config: given,
    thrown,
    ...overrides
  }: { config?: Partial<ServeConfig>; thrown?: () => unknown } & Partial<ServeDeps> = {},
): Promise<TestServer> {
  const seen: Seen = { mutations: 0, openTicks: 0 }
  const lines: string[] = []
  const authenticate = createAuthenticate({
    findApiKey: (key) => findApiKey(database.pool, key),
    verifyJwt: createVerifyJwt({
      auth: { jwtSecret, jwksUrl: null, audience: 'stellwerk', issuer: null },
      findTenantIds: (names) => findTenantIds(database.pool, names),
    }),
  })
  const config: ServeConfig = {
    env: 'development',
    http: { host: '127.0.0.1', port: 0 },
    api: true,
    allowedOrigins: [],
    trustProxy: [],
    metricsToken: null,
    serviceBudget: null,
    ...given,
  }
  const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  const api = { config, schema: testSchema(seen, thrown), contextFor: (call: Call) => ({ call }), authenticate, log }
  const server = createHttpServer({
    config,
    api: config.api ? createApi({ ...api, ...overrides }) : null,
    health: createHealth({ pool: database.pool, workersUnfit: () => [] }),
    metrics: { contentType: 'text/plain; version=0.0.4', scrape: async () => 'mdm_subscriptions 0\n' },
    mailbox: null,
    log,
    stopWithinMs: 1_000,
    ...overrides,
  })
  const { url } = await server.start()
  open.add(server)
  return { url, server, authenticate, seen, lines }
}

/** Stops whatever a test has left running. */
export async function stopServers(): Promise<void> {
  await Promise.all([...open].map((server) => server.stop()))
  open.clear()
}

/** A JWT; claims given as undefined are left out. */
export function token(
  claims: Record<string, unknown> = {},
  { secondsLeft = 3_600, secret = jwtSecret, alg = 'HS256' } = {},
): Promise<string> {
  const all = {
    sub: 'ada',
    aud: 'stellwerk',
    scope: 'read_jobs',
    tenants: ['default'],
    exp: Math.floor(Date.now() / 1000) + secondsLeft,
    ...claims,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret))
}

/** An API key with a name of its own. */
export async function apiKey(
  database: TestDatabase,
  held: readonly Scope[] = scopes,
  expiresAt: Date | null = null,
): Promise<{ id: string; key: string }> {
  return mintApiKey(database.pool, {
    name: `key ${randomUUID()}`,
    scopes: held,
    tenantIds: null,
    expiresAt,
    createdBy: 'system:test',
  })
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    data?: Record<string, unknown> | null
    errors?: { message: string; extensions: Record<string, unknown>; path?: unknown }[]
  }
}

/** Sends an operation by POST. */
export async function ask(
  url: string,
  query: string,
  {
    authorization,
    headers = {},
    variables,
  }: { authorization?: string; headers?: Record<string, string>; variables?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }), ...headers },
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer['body'] }
}

/** What came over a server-sent event stream, as far as it got, and how it ended. */
export async function askEvents(
  url: string,
  query: string,
  authorization?: string,
): Promise<{ status: number; messages: Answer['body'][]; ended: 'complete' | 'cut' }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(authorization && { authorization }),
    },
    body: JSON.stringify({ query }),
  })
  let text = ''
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
  } catch {
    // Cut off: what came before counts.
  }
  const messages = [...text.matchAll(/^event: next\ndata: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data!) as Answer['body'],
  )
  return { status: response.status, messages, ended: text.includes('event: complete') ? 'complete' : 'cut' }
}

/** The messages of one operation over a WebSocket of its own, or the errors that it was refused with. */
export async function askSocket(url: string, query: string, authorization?: string): Promise<Answer['body'][]> {
  const client = socketClient(url, authorization)
  const messages: Answer['body'][] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  client.subscribe(
    { query },
    { next: (message) => void messages.push(message as Answer['body']), error: reject, complete: resolve },
  )
  try {
    await promise
  } catch (errors) {
    if (!Array.isArray(errors)) throw errors
    messages.push({
      errors: errors.map((error: GraphQLError) => error.toJSON?.() ?? error) as NonNullable<Answer['body']['errors']>,
    })
  } finally {
    await client.dispose()
  }
  return messages
}

export function socketClient(url: string, authorization?: string): Client {
  return createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: authorization === undefined ? {} : { authorization },
  })
}

/** A bare socket that speaks the protocol by hand. */
export interface RawSocket {
  readonly socket: WebSocket
  readonly messages: Record<string, unknown>[]
  readonly closed: Promise<{ code: number; reason: string }>
  send(message: unknown): void
}

export async function rawSocket(
  url: string,
  { origin, protocol = 'graphql-transport-ws' }: { origin?: string; protocol?: string } = {},
): Promise<RawSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol, origin === undefined ? {} : { origin })
  const messages: Record<string, unknown>[] = []
  socket.on('message', (data) => void messages.push(JSON.parse((data as Buffer).toString()) as Record<string, unknown>))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  )
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve())
    socket.once('error', reject)
  })
  socket.on('error', () => undefined)
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  }
}
