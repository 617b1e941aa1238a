import { createServer, request as httpRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DatabaseUnavailable, StartError } from '../../src/jobs/errors.ts'
import { ApiError } from '../../src/resolvers/api-error.ts'
import { createHealth } from '../../src/resolvers/health.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { apiKey, ask, askEvents, serve, stopServers, token } from './support.ts'

let database: TestDatabase
let admin: string

beforeAll(async () => {
  database = await testDatabase()
  admin = `Bearer ${(await apiKey(database)).key}`
})
afterEach(stopServers)
afterAll(() => database.drop())

describe('who was refused before there was a request, and does not close its side', () => {
  const upgrade = (path: string, more = '') =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

  test.each([
    ['no HTTP', 'NONSENSE\r\n\r\n', 400],
    ['a socket elsewhere', upgrade('/elsewhere'), 404],
    ['a page of another origin', upgrade('/graphql', 'origin: http://evil.example\r\n'), 403],
  ])('%s: is answered, and holds up no stop', async (_, text, status) => {
    const { url, server } = await serve(database)
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk)).on('error', () => undefined)
    socket.write(text)
    await until(() => answer.endsWith('}'), 'it is answered')
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const late = wait(5_000, 'late', { ref: false })
    const stopped = await Promise.race([server.stop(), late])
    socket.destroy()
    expect(stopped).toBeUndefined()
  })
})

describe('GraphQL by POST', () => {
  test('answers, and says who asked', async () => {
    const { url } = await serve(database)
    const { status, body, headers } = await ask(url, '{ who kind }', { authorization: `Bearer ${await token()}` })
    expect({ status, body }).toEqual({ status: 200, body: { data: { who: 'ada', kind: 'USER' } } })
    expect(headers.get('content-type')).toContain('json')
  })

  test('nobody is a caller too', async () => {
    const { url } = await serve(database)
    expect((await ask(url, '{ who }')).body).toEqual({ data: { who: null } })
  })

  test('a bad token stops the call before it runs', async () => {
    const { url, seen } = await serve(database)
    const { status, body } = await ask(url, 'mutation { change }', { authorization: 'Bearer sw_nothing' })
    expect(status).toBe(401)
    expect(body.errors![0]!.extensions).toMatchObject({ code: 'UNAUTHENTICATED', requestId: expect.any(String) })
    expect(seen.mutations).toBe(0)
  })

  test('a sane request id is taken over, another is replaced', async () => {
    const { url } = await serve(database)
    const kept = await ask(url, '{ nothing }', { headers: { 'x-request-id': 'trace-1:2.3' } })
    expect(kept.headers.get('x-request-id')).toBe('trace-1:2.3')
    expect(kept.body.errors![0]!.extensions['requestId']).toBe('trace-1:2.3')
    const replaced = await ask(url, '{ who }', { headers: { 'x-request-id': 'no <b>thanks</b>' } })
    expect(replaced.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
  })

  test.each([
    ['application/x-www-form-urlencoded', 'query=mutation%7Bchange%7D'],
    ['text/plain', 'mutation { change }'],
    ['application/graphql', 'mutation { change }'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n{"query":"mutation{change}"}\r\n--x--\r\n',
    ],
  ])('G03: %s changes nothing', async (type, body) => {
    const { url, seen } = await serve(database)
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': type, authorization: admin },
      body,
    })
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining('application/json') }] })
    expect(seen.mutations).toBe(0)
  })

  test('G03: without a content type changes nothing', async () => {
    const { url, seen } = await serve(database)
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: admin },
      body: new TextEncoder().encode('{"query":"mutation{change}"}'),
    })
    expect(response.status).toBe(415)
    expect(seen.mutations).toBe(0)
  })

  test('G03: GET runs nothing', async () => {
    const { url, seen } = await serve(database)
    for (const accept of ['application/json', 'text/event-stream', '*/*']) {
      const response = await fetch(`${url}/graphql?query=mutation%7Bchange%7D`, {
        headers: { accept, authorization: admin },
      })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toContain('POST')
      expect(await response.json()).toMatchObject({ errors: [{ message: expect.stringContaining('POST') }] })
    }
    expect(seen.mutations).toBe(0)
  })

  test('G01: several operations in one body are refused', async () => {
    const { url, seen } = await serve(database)
    const body = JSON.stringify([{ query: 'mutation { change }' }, { query: 'mutation { change }' }])
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: admin },
      body,
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
    expect(seen.mutations).toBe(0)
  })

  test.each([
    ['{"query":', 400, 'BAD_USER_INPUT'],
    ['null', 400, 'BAD_USER_INPUT'],
    ['{}', 400, 'BAD_USER_INPUT'],
    ['{"query":"{ who"}', 400, 'GRAPHQL_PARSE_FAILED'],
    ['{"query":"{ nothing }"}', 400, 'GRAPHQL_VALIDATION_FAILED'],
    ['{"query":"query($n: Int!) { echo(number: $n) }","variables":{"n":"hunter2"}}', 400, 'BAD_USER_INPUT'],
    ['{"query":"query A { who } query B { who }"}', 400, 'BAD_USER_INPUT'],
    ['{"query":"subscription { count(to: 1) }"}', 400, 'BAD_USER_INPUT'],
  ])('%s is refused with a code', async (body, status, code) => {
    const { url } = await serve(database)
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const text = await response.text()
    expect({ status: response.status, code: JSON.parse(text).errors[0].extensions.code }).toEqual({ status, code })
    expect(text).not.toContain('hunter2')
  })

  test('D07: a body above 1 MiB is refused while it comes, whatever it says about its length', async () => {
    const { url } = await serve(database)
    const { port } = new URL(url)
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1')
      let text = ''
      socket
        .on('data', (chunk) => (text += chunk))
        .on('error', () => resolve(text))
        .on('close', () => resolve(text))
      socket.write(
        'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
      )
      const megabyte = Buffer.alloc(1024 * 1024, 'x')
      for (let sent = 0; sent < 3; sent++)
        socket.write(Buffer.concat([Buffer.from('100000\r\n'), megabyte, Buffer.from('\r\n')]))
    })
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    expect(answer).toContain('1048576 bytes')
    expect((await ask(url, '{ who }')).status).toBe(200)
  })

  test('suggestions are for development', async () => {
    const development = await serve(database)
    expect((await ask(development.url, '{ whoo }')).body.errors![0]!.message).toMatch(/Did you mean/)
    const production = await serve(database, { config: { env: 'production' } })
    expect((await ask(production.url, '{ whoo }')).body.errors![0]!.message).toBe(
      'Cannot query field "whoo" on type "Query".',
    )
  })

  test('introspection is for who is signed in', async () => {
    const { url } = await serve(database)
    for (const query of [
      '{ __schema { types { name } } }',
      '{ ...f } fragment f on Query { __type(name: "Query") { name } }',
    ]) {
      const refused = await ask(url, query)
      expect(refused).toMatchObject({ status: 401, body: { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] } })
      expect((await ask(url, query, { authorization: admin })).status).toBe(200)
      expect((await ask(url, query)).status).toBe(401)
    }
    expect((await ask(url, '{ __typename }')).status).toBe(200)
  })
})

describe('G05: errors', () => {
  const secret = 'postgres://app:hunter2@10.0.0.7/prod select * from mdm.aa_job /srv/app/secret.ts'

  test('that nobody foresaw show the request id and nothing else', async () => {
    const { url, lines } = await serve(database, { thrown: () => new Error(secret) })
    const { status, body } = await ask(url, '{ fail }', { headers: { 'x-request-id': 'find-me' } })
    expect(status).toBe(500)
    expect(body.errors).toEqual([
      {
        message: expect.stringContaining('not foreseen'),
        locations: expect.anything(),
        path: ['fail'],
        extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'find-me' },
      },
    ])
    expect(lines.filter((line) => line.includes('find-me') && line.includes('hunter2'))).toHaveLength(1)
  })

  test('of the database reach neither the caller nor, with their values, the log', async () => {
    const thrown = await database
      .sql("insert into mdm.aa_tenant (tenant_key, name) values ('default', 'hunter2')")
      .catch((error: unknown) => error)
    const { url, lines } = await serve(database, { thrown: () => thrown })
    const { status, body } = await ask(url, '{ fail }')
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toMatch(/aa_tenant|duplicate|default|23505/)
    expect(lines.join()).toContain('23505')
    expect(lines.join()).not.toMatch(/hunter2|\(default\)/)
  })

  test.each([
    ['an error without an Error', () => 'a text with hunter2', 500, { code: 'INTERNAL_SERVER_ERROR' }],
    [
      'a code that is on no list',
      () => Object.assign(new Error(secret), { code: 'EVIL' }),
      500,
      { code: 'INTERNAL_SERVER_ERROR' },
    ],
    [
      'what the API says',
      () => new ApiError('FORBIDDEN', 'This needs the scope READ_JOBS.'),
      403,
      { code: 'FORBIDDEN' },
    ],
    [
      'what comes again later',
      () => new ApiError('RATE_LIMITED', 'Too many.', { retryAfter: 3 }),
      429,
      { code: 'RATE_LIMITED', retryAfter: 3 },
    ],
    ['a database that is away', () => new DatabaseUnavailable(), 503, { code: 'SERVICE_UNAVAILABLE' }],
    [
      'an outcome that is unknown',
      () => new DatabaseUnavailable({ outcomeUnknown: true }),
      503,
      { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' },
    ],
    [
      'a socket that is refused',
      () => Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' }),
      503,
      { code: 'SERVICE_UNAVAILABLE' },
    ],
  ])('%s', async (_, thrown, status, extensions) => {
    const { url } = await serve(database, { thrown })
    const answer = await ask(url, '{ fail }')
    expect(answer.status).toBe(status)
    expect(answer.body.errors![0]!.extensions).toEqual({ ...extensions, requestId: expect.any(String) })
    expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|10\.0\.0\.7|select/)
    expect(answer.headers.get('retry-after')).toBe('retryAfter' in extensions ? '3' : null)
  })

  test('a change whose connection broke has an unknown outcome, a read has not', async () => {
    const { url } = await serve(database, { thrown: () => new Error('Connection terminated unexpectedly') })
    expect((await ask(url, 'mutation { failToChange }')).body.errors![0]!.extensions).toMatchObject({
      outcome: 'unknown',
    })
    expect((await ask(url, '{ fail }')).body.errors![0]!.extensions).not.toHaveProperty('outcome')
  })

  test('a token cannot be checked while the database is away: 503, in time', async () => {
    const away = new Pool({ host: '127.0.0.1', port: 1 })
    const { url } = await serve({ ...database, pool: away })
    const { status, body } = await ask(url, '{ who }', { authorization: 'Bearer sw_whatever' })
    expect({ status, code: body.errors![0]!.extensions['code'] }).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE' })
  })
})

describe('S08: pages of other origins', () => {
  const evil = 'https://evil.example'

  test('are not served and not reflected', async () => {
    const { url, seen } = await serve(database)
    for (const accept of ['application/json', 'text/event-stream']) {
      const { status, headers } = await ask(url, 'mutation { change }', {
        authorization: admin,
        headers: { origin: evil, accept },
      })
      expect(status).toBe(403)
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    const preflight = await fetch(`${url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin: evil, 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).toBe(403)
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    expect((await ask(url, '{ who }', { headers: { origin: 'null' } })).status).toBe(403)
    expect(seen.mutations).toBe(0)
  })

  test('are served where they are listed, the own one always', async () => {
    const { url } = await serve(database, { config: { allowedOrigins: ['https://app.example'] } })
    const listed = await ask(url, '{ who }', { headers: { origin: 'https://app.example' } })
    expect(listed.status).toBe(200)
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example')
    const preflight = await fetch(`${url}/graphql`, { method: 'OPTIONS', headers: { origin: 'https://app.example' } })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
    expect((await ask(url, '{ who }', { headers: { origin: url } })).status).toBe(200)
  })
})

describe('server-sent events', () => {
  test('come one by one and end with complete', async () => {
    const { url } = await serve(database)
    const { status, messages, ended } = await askEvents(url, 'subscription { count(to: 3) }', admin)
    expect({ status, ended }).toEqual({ status: 200, ended: 'complete' })
    expect(messages).toEqual([1, 2, 3].map((count) => ({ data: { count } })))
  })

  test('S09: are not held back or stored on the way', async () => {
    const { url, server } = await serve(database)
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { silence }' }),
    })
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    expect(response.headers.get('cache-control')).toContain('no-transform')
    expect(response.headers.get('x-request-id')).toMatch(/./)
    await until(() => server.subscriptions() === 1, 'the stream is counted')
    await response.body!.cancel()
    await until(() => server.subscriptions() === 0, 'the stream is let go')
  })

  test('a client that leaves lets go of the source at once', async () => {
    const { url, seen } = await serve(database)
    const leave = new AbortController()
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { silence }' }),
      signal: leave.signal,
    })
    expect(response.status).toBe(200)
    await until(() => seen.openTicks === 1, 'the source is open')
    leave.abort()
    await until(() => seen.openTicks === 0, 'the source is let go')
  })

  test('a refused subscription has the status of its code', async () => {
    const { url } = await serve(database)
    const { status, messages } = await askEvents(url, 'subscription { refused }', admin)
    expect(status).toBe(404)
    expect(messages).toMatchObject([
      {
        errors: [
          { message: 'There is no such thing.', extensions: { code: 'NOT_FOUND', requestId: expect.any(String) } },
        ],
      },
    ])
  })

  test('are cut off without complete when the token expires', async () => {
    const { url, seen } = await serve(database)
    const { messages, ended } = await askEvents(
      url,
      'subscription { silence }',
      `Bearer ${await token({}, { secondsLeft: 2 })}`,
    )
    expect({ messages, ended }).toEqual({ messages: [{ data: { silence: 0 } }], ended: 'cut' })
    await until(() => seen.openTicks === 0, 'the source is let go')
  })

  test('end when the server stops', async () => {
    const { url, server, seen } = await serve(database)
    const stream = askEvents(url, 'subscription { silence }', admin)
    await until(() => server.subscriptions() === 1, 'the stream is open')
    await server.stop()
    expect((await stream).ended).toBe('cut')
    await until(() => seen.openTicks === 0, 'the source is let go')
  })
})

describe('paths', () => {
  test('what is not there and what is not done says so, in JSON', async () => {
    const { url } = await serve(database)
    const missing = await fetch(`${url}/nothing?x=1`)
    expect(missing.status).toBe(404)
    expect(await missing.json()).toMatchObject({
      errors: [{ message: expect.stringContaining('/graphql'), extensions: { code: 'NOT_FOUND' } }],
    })
    const wrong = await fetch(`${url}/health`, { method: 'POST' })
    expect(wrong.status).toBe(405)
    expect(wrong.headers.get('allow')).toBe('GET')
    expect(await wrong.json()).toMatchObject({ errors: [{ message: 'This path takes GET only.' }] })
    expect((await fetch(`${url}/__proto__`)).status).toBe(404)
    expect(missing.headers.get('x-request-id')).toMatch(/./)
  })

  test('the start page loads nothing', async () => {
    const { url } = await serve(database)
    const response = await fetch(url)
    const page = await response.text()
    expect(page).toContain('href="/graphiql"')
    expect(page).not.toMatch(/<script|<link|<img|https?:/)
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('without an API there is no GraphQL', async () => {
    const { url } = await serve(database, { config: { api: false } })
    expect((await fetch(`${url}/graphql`, { method: 'POST' })).status).toBe(404)
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('the mailbox is there in development and nowhere else', async () => {
    let mails = [{ to: 'ada@example.org' }]
    const mailbox = { list: () => mails, clear: () => void (mails = []) }
    const { url } = await serve(database, { mailbox })
    expect(await (await fetch(`${url}/dev/mailbox`)).json()).toEqual([{ to: 'ada@example.org' }])
    expect((await fetch(`${url}/dev/mailbox`, { method: 'DELETE' })).status).toBe(204)
    expect(await (await fetch(`${url}/dev/mailbox`)).json()).toEqual([])
    const production = await serve(database, { mailbox, config: { env: 'production' } })
    expect((await fetch(`${production.url}/dev/mailbox`)).status).toBe(404)
  })
})

describe('metrics', () => {
  test('are open on this machine, and not for who comes through a proxy', async () => {
    const { url } = await serve(database, { config: { env: 'production' } })
    const response = await fetch(`${url}/metrics`)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('mdm_subscriptions')
    expect((await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '203.0.113.9' } })).status).toBe(403)
    expect((await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '127.0.0.1' } })).status).toBe(403)
  })

  test('behind a trusted proxy the forwarded address counts', async () => {
    const { url } = await serve(database, { config: { env: 'production', trustProxy: ['127.0.0.0/8'] } })
    expect((await fetch(`${url}/metrics`, { headers: { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' } })).status).toBe(
      403,
    )
  })

  test('with a token need the token', async () => {
    const { url } = await serve(database, { config: { metricsToken: 'scrape me' } })
    expect((await fetch(`${url}/metrics`)).status).toBe(401)
    expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape you' } })).status).toBe(401)
    expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape me' } })).status).toBe(200)
  })
})

describe('readiness', () => {
  test('is there when the database is', async () => {
    const { url } = await serve(database)
    const response = await fetch(`${url}/ready`)
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 200,
      body: { status: 'ready', reasons: [], warnings: [] },
    })
  })

  test('is missing, in time, when the database hangs; health is not', async () => {
    const hanging = createServer().listen(0, '127.0.0.1')
    hanging.on('connection', (socket) => socket.on('error', () => undefined))
    await until(() => hanging.address(), 'the port is open')
    const away = new Pool({
      host: '127.0.0.1',
      port: (hanging.address() as AddressInfo).port,
      connectionTimeoutMillis: 20_000,
    })
    const { url } = await serve(database, { health: createHealth({ pool: away, workersUnfit: () => [] }) })
    const started = performance.now()
    const answers = await Promise.all([fetch(`${url}/ready`), fetch(`${url}/ready`)])
    expect(performance.now() - started).toBeLessThan(5_000)
    for (const answer of answers) {
      expect(answer.status).toBe(503)
      expect(await answer.json()).toMatchObject({ reasons: [expect.stringContaining('database does not answer')] })
    }
    expect(away.totalCount).toBeLessThanOrEqual(1)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    hanging.closeAllConnections()
    hanging.close()
  })

  test('a session that hung under the look is not handed to the next request', async () => {
    const pool = new Pool({ connectionString: database.url, max: 1, query_timeout: 200 })
    const other = await database.pool.connect()
    try {
      await other.query('begin')
      await other.query('lock table public._prisma_migrations in access exclusive mode')
      const { url } = await serve(database, { health: createHealth({ pool, workersUnfit: () => [] }) })
      expect((await fetch(`${url}/ready`)).status).toBe(503)
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      await other.query('rollback')
    } finally {
      other.release()
      await pool.end()
    }
  })

  test('is missing when a migration is, or when the workers are not fit', async () => {
    const behind = await testDatabase()
    try {
      const unfit = await serve(behind, {
        health: createHealth({ pool: behind.pool, workersUnfit: () => ['The pool default has no live slot.'] }),
      })
      expect(await (await fetch(`${unfit.url}/ready`)).json()).toMatchObject({
        status: 'not ready',
        reasons: ['The pool default has no live slot.'],
      })
      await behind.sql(
        'delete from public._prisma_migrations where migration_name = (select max(migration_name) from public._prisma_migrations)',
      )
      const { url } = await serve(behind)
      const response = await fetch(`${url}/ready`)
      expect(response.status).toBe(503)
      expect(await response.json()).toMatchObject({
        reasons: [expect.stringMatching(/version: \d{4}_\w+ \(pending\).*stellwerk migrate/)],
      })
    } finally {
      await stopServers()
      await behind.drop()
    }
  })

  test('warns of a month without a journal partition', async () => {
    const bare = await testDatabase()
    try {
      const [next] = await bare.sql<{ name: string; month: string }>(
        "select 'aa_audit_log_' || to_char(m, 'YYYY_MM') as name, to_char(m, 'YYYY-MM') as month from (select date_trunc('month', now() at time zone 'UTC') + interval '1 month' as m) months",
      )
      await bare.sql(`drop table mdm_journal.${next!.name}`)
      const { url } = await serve(bare)
      const response = await fetch(`${url}/ready`)
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ warnings: [expect.stringContaining(next!.month)] })
    } finally {
      await stopServers()
      await bare.drop()
    }
  })
})

describe('start and stop', () => {
  test('a taken port is an error that names it and what to do', async () => {
    const { url } = await serve(database)
    const port = Number(new URL(url).port)
    const second = serve(database, { config: { http: { host: '127.0.0.1', port } } })
    await expect(second).rejects.toThrow(StartError)
    await expect(second).rejects.toThrow(new RegExp(`Port ${port} .*PORT=`))
  })

  test('a running request finishes, a new one finds nobody', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const metrics = { contentType: 'text/plain', scrape: async () => (await promise, 'finished') }
    const { url, server } = await serve(database, { metrics })
    const running = new Promise<string>((done, failed) => {
      httpRequest(`${url}/metrics`, { agent: false }, (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk)).on('end', () => done(text))
      })
        .on('error', failed)
        .end()
    })
    await until(async () => (await fetch(`${url}/health`)).status === 200, 'the server answers')
    const stopped = server.stop()
    expect(server.stop()).toBe(stopped)
    await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
    resolve()
    expect(await running).toBe('finished')
    await stopped
  })

  test('a request that never ends is cut off', async () => {
    const { url, server } = await serve(database, {
      metrics: { contentType: 'text/plain', scrape: () => new Promise(() => undefined) },
      stopWithinMs: 200,
    })
    const running = fetch(`${url}/metrics`)
    const outcome = running.then(
      () => 'answered',
      () => 'cut off',
    )
    await until(async () => (await fetch(`${url}/health`)).status === 200, 'the server answers')
    await server.stop()
    expect(await outcome).toBe('cut off')
  })
})
