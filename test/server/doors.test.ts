import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRequestContext } from '../../src/resolvers/context.ts'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { createAuthenticate } from '../../src/server/auth.ts'
import { testApi, type TestApi } from '../api/support.ts'
import { apiKey, rawSocket, serve, socketClient, stopServers, type Answer } from './support.ts'

type Body = Answer['body']
type Door = (url: string, operation: object, authorization: string) => Promise<Body>

let api: TestApi
let admin: string

beforeAll(async () => {
  api = await testApi()
  admin = `Bearer ${(await apiKey(api)).key}`
})
afterEach(stopServers)
afterAll(() => api.stop())

const headersFor = (authorization: string, accept = 'application/json') => ({
  'content-type': 'application/json',
  accept,
  authorization,
})

/** The three ways in, each with its answer to one operation. */
const doors: [name: string, door: Door][] = [
  [
    'HTTP',
    async (url, operation, authorization) => {
      const body = JSON.stringify(operation)
      return (await (
        await fetch(`${url}/graphql`, { method: 'POST', headers: headersFor(authorization), body })
      ).json()) as Body
    },
  ],
  [
    'server-sent events',
    async (url, operation, authorization) => {
      const headers = headersFor(authorization, 'text/event-stream')
      const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify(operation) })
      const text = await response.text()
      return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text) as Body
    },
  ],
  [
    'WebSocket',
    async (url, operation, authorization) => {
      const client = socketClient(url, authorization)
      const answer = Promise.withResolvers<Body>()
      client.subscribe(operation as { query: string }, {
        next: (message) => answer.resolve(message as Body),
        error: (errors) =>
          answer.resolve({ errors: JSON.parse(JSON.stringify(errors)) as NonNullable<Body['errors']> }),
        complete: () => undefined,
      })
      try {
        return await answer.promise
      } finally {
        await client.dispose()
      }
    },
  ],
]

/** The real schema behind the real edge. */
const serveAll = async () =>
  serve(api, {
    schema: buildSchema(),
    contextFor: (call) => createRequestContext(api.deps, { ...call, budget: () => null }),
    authenticate: createAuthenticate({
      findApiKey: (key) => findApiKey(api.pool, key),
      verifyJwt: () => Promise.reject(new Error('no JWT here')),
    }),
  })

const jobs = async (): Promise<number> => Number((await api.sql('select count(*) from mdm.aa_job'))[0]!['count'])
const nested = (levels: number): object => (levels === 0 ? {} : { in: nested(levels - 1) })
const enqueue = `mutation ($job: JobInput!) { enqueueJob(input: { job: $job }) { outcome errors { code message path } } }`
const echo = (payload: object) => ({ job: { custom: { kind: 'echo', payload } } })

describe.each(doors)('G01: over %s', (_, door) => {
  test('a thousand jobs at once, and not one more', async () => {
    const { url } = await serveAll()
    const before = await jobs()
    const query =
      'mutation ($jobs: [EnqueueJobInput!]!) { enqueueJobs(input: { jobs: $jobs }) { created errors { code message } } }'
    const many = (count: number) => ({ query, variables: { jobs: Array.from({ length: count }, () => echo({})) } })
    expect((await door(url, many(1_001), admin)).data!['enqueueJobs']).toMatchObject({
      created: 0,
      errors: [{ code: expect.stringMatching(/LIMIT|INVALID/), message: expect.stringContaining('1,000') }],
    })
    expect(await jobs()).toBe(before)
    expect((await door(url, many(1_000), admin)).data!['enqueueJobs']).toEqual({ created: 1_000, errors: [] })
  })

  test('a thousand ids in a bulk action, and not one more', async () => {
    const { url } = await serveAll()
    const query =
      'mutation ($ids: [ID!]!) { stopJobs(input: { select: { ids: $ids }, dryRun: true }) { preview { matched { count } } errors { code message } } }'
    const many = (count: number) => ({
      query,
      variables: { ids: Array.from({ length: count }, () => crypto.randomUUID()) },
    })
    expect((await door(url, many(1_001), admin)).data!['stopJobs']).toMatchObject({
      preview: null,
      errors: [{ message: expect.stringContaining('1,000') }],
    })
    expect((await door(url, many(1_000), admin)).data!['stopJobs']).toEqual({
      preview: { matched: { count: 0 } },
      errors: [],
    })
  })

  test('a payload of 32 levels, and not one more', async () => {
    const { url } = await serveAll()
    const payload = (levels: number) => ({ query: enqueue, variables: echo(nested(levels)) })
    const before = await jobs()
    expect((await door(url, payload(33), admin)).data!['enqueueJob']).toMatchObject({
      outcome: null,
      errors: [{ code: 'INVALID', message: expect.stringContaining('32') }],
    })
    expect(await jobs()).toBe(before)
    expect((await door(url, payload(31), admin)).data!['enqueueJob']).toEqual({ outcome: 'CREATED', errors: [] })
  })

  test('a payload of nearly 64 KiB', async () => {
    const { url } = await serveAll()
    const fits = { query: enqueue, variables: echo({ text: 'x'.repeat(60 * 1024) }) }
    expect((await door(url, fits, admin)).data!['enqueueJob']).toEqual({ outcome: 'CREATED', errors: [] })
  })
})

const tooLarge = { query: enqueue, variables: echo({ text: 'x'.repeat(64 * 1024) }) }

test.each(doors.slice(0, 2))('G01: over %s a payload above 64 KiB is refused', async (_, door) => {
  const { url } = await serveAll()
  const before = await jobs()
  expect((await door(url, tooLarge, admin)).data!['enqueueJob']).toMatchObject({
    outcome: null,
    errors: [{ code: expect.stringMatching(/LIMIT|INVALID/), message: expect.stringContaining('64 KiB') }],
  })
  expect(await jobs()).toBe(before)
})

test('G01: over WebSocket a frame ends before such a payload does', async () => {
  const { url } = await serveAll()
  const before = await jobs()
  const raw = await rawSocket(url)
  raw.send({ type: 'connection_init', payload: { authorization: admin } })
  raw.send({ type: 'subscribe', id: '1', payload: tooLarge })
  expect((await raw.closed).code).toBe(1009)
  expect(await jobs()).toBe(before)
})

describe.each(doors)('over %s', (_, door) => {
  test('G05: what nobody foresaw is told by its request id alone', async () => {
    const thrown = () => new Error('connect to 10.0.0.7 as hunter2: select secret from t')
    const { url, lines } = await serve(api, { thrown })
    for (const query of ['{ fail }', 'mutation { failToChange }']) {
      const answer = await door(url, { query }, admin)
      const [error] = answer.errors!
      expect(error!.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', requestId: expect.any(String) })
      expect(JSON.stringify(answer)).not.toMatch(/hunter2|10\.0\.0\.7|select/)
      expect(lines.join('')).toContain(error!.extensions['requestId'])
    }
  })

  test('suggestions are for development', async () => {
    const messageOf = async (env: 'development' | 'production') => {
      const { url } = await serve(api, { config: { env } })
      return (await door(url, { query: '{ whoo }' }, admin)).errors![0]!.message
    }
    expect(await messageOf('development')).toMatch(/Did you mean/)
    expect(await messageOf('production')).not.toMatch(/Did you mean/)
  })
})

describe('over server-sent events', () => {
  const events = { accept: 'text/event-stream' }

  test('G03: other content types change nothing', async () => {
    const { url, seen } = await serve(api)
    for (const [type, body] of [
      ['application/x-www-form-urlencoded', 'query=mutation%7Bchange%7D'],
      ['text/plain', '{"query":"mutation{change}"}'],
      [
        'multipart/form-data; boundary=x',
        '--x\r\ncontent-disposition: form-data; name="query"\r\n\r\nmutation{change}\r\n--x--\r\n',
      ],
    ] as const) {
      const headers = { ...events, 'content-type': type, authorization: admin }
      expect((await fetch(`${url}/graphql`, { method: 'POST', headers, body })).status).toBe(415)
    }
    expect(seen.mutations).toBe(0)
  })

  test('G01: several operations in one body are refused', async () => {
    const { url, seen } = await serve(api)
    const headers = headersFor(admin, 'text/event-stream')
    const body = JSON.stringify([{ query: 'mutation { change }' }, { query: 'subscription { count(to: 1) }' }])
    const text = await (await fetch(`${url}/graphql`, { method: 'POST', headers, body })).text()
    expect(text).toContain('BAD_USER_INPUT')
    expect(text).not.toContain('"data"')
    expect(seen.mutations).toBe(0)
  })

  test('D07: a body above 1 MiB is refused', async () => {
    const { url } = await serve(api)
    const headers = headersFor(admin, 'text/event-stream')
    const body = JSON.stringify({ query: `{ who } #${'x'.repeat(1024 * 1024)}` })
    expect((await fetch(`${url}/graphql`, { method: 'POST', headers, body })).status).toBe(413)
  })

  test('S08: a foreign page hears nothing, a listed one does', async () => {
    const { url } = await serve(api, { config: { allowedOrigins: ['https://app.example'] } })
    const ask = (origin: string) =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...headersFor(admin, 'text/event-stream'), origin },
        body: JSON.stringify({ query: 'subscription { count(to: 1) }' }),
      })
    const foreign = await ask('https://evil.example')
    expect(foreign.status).toBe(403)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    const listed = await ask('https://app.example')
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(await listed.text()).toContain('"count":1')
  })
})

test('G01: several operations in one message close a socket', async () => {
  const { url, seen } = await serve(api)
  const raw = await rawSocket(url)
  raw.send({ type: 'connection_init', payload: { authorization: admin } })
  raw.send([{ type: 'subscribe', id: '1', payload: { query: 'mutation { change }' } }])
  expect((await raw.closed).code).toBe(4400)
  expect(seen.mutations).toBe(0)
})
