import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { apiKey, ask, askSocket, rawSocket, serve, stopServers, token, type RawSocket } from './support.ts'

let database: TestDatabase
let admin: string

beforeAll(async () => {
  database = await testDatabase()
  admin = `Bearer ${(await apiKey(database)).key}`
})
afterEach(stopServers)
afterAll(() => database.drop())

async function signedIn(url: string, authorization = admin): Promise<RawSocket> {
  const raw = await rawSocket(url)
  raw.send({ type: 'connection_init', payload: { authorization } })
  await until(() => raw.messages.some(({ type }) => type === 'connection_ack'), 'the socket is acknowledged')
  return raw
}

const subscribe = (id: string, query: string, extensions?: unknown) => ({
  type: 'subscribe',
  id,
  payload: { query, extensions },
})
const typed = ({ messages }: RawSocket, type: string) => messages.filter((message) => message['type'] === type)

test('asks, changes and watches', async () => {
  const { url } = await serve(database)
  expect(await askSocket(url, '{ who }', `Bearer ${await token()}`)).toEqual([{ data: { who: 'ada' } }])
  expect(await askSocket(url, 'mutation { change }', admin)).toEqual([{ data: { change: 1 } }])
  expect(await askSocket(url, 'subscription { count(to: 2) }', admin)).toEqual([
    { data: { count: 1 } },
    { data: { count: 2 } },
  ])
})

describe('a token', () => {
  test.each([
    ['beside connection_init', (authorization: string) => ({ authorization })],
    ['in capitals', (Authorization: string) => ({ Authorization })],
    ['under headers', (authorization: string) => ({ headers: { authorization } })],
  ])('%s is found', async (_, payload) => {
    const { url } = await serve(database)
    const raw = await rawSocket(url)
    raw.send({ type: 'connection_init', payload: payload(`Bearer ${await token()}`) })
    await until(() => typed(raw, 'connection_ack').length > 0, 'the socket is acknowledged')
    raw.send(subscribe('1', '{ who }'))
    await until(() => typed(raw, 'next').length > 0, 'the answer comes')
    expect(typed(raw, 'next')[0]).toMatchObject({ payload: { data: { who: 'ada' } } })
  })

  test("in GraphiQL's place, the operation's extensions, is found", async () => {
    const { url } = await serve(database)
    const raw = await rawSocket(url)
    raw.send({ type: 'connection_init', payload: {} })
    await until(() => typed(raw, 'connection_ack').length > 0, 'the socket is acknowledged')
    raw.send(subscribe('1', '{ who }', { headers: { Authorization: `Bearer ${await token()}` } }))
    await until(() => typed(raw, 'next').length > 0, 'the answer comes')
    expect(typed(raw, 'next')[0]).toMatchObject({ payload: { data: { who: 'ada' } } })
  })

  test('that is missing leaves a caller who is nobody', async () => {
    const { url } = await serve(database)
    expect(await askSocket(url, '{ who }')).toEqual([{ data: { who: null } }])
  })

  test.each([
    ['unknown', async () => 'Bearer sw_nothing', /UNAUTHENTICATED/],
    ['expired', async () => `Bearer ${await token({}, { secondsLeft: -120 })}`, /TOKEN_EXPIRED/],
  ])('that is %s closes with 4403', async (_, make, reason) => {
    const { url } = await serve(database)
    const raw = await rawSocket(url)
    raw.send({ type: 'connection_init', payload: { authorization: await make() } })
    const closed = await raw.closed
    expect(closed.code).toBe(4403)
    expect(closed.reason).toMatch(reason)
    expect(raw.messages).toEqual([])
  })

  test('S06: that expires closes with 4403 and lets go of the streams', async () => {
    const { url, seen, server } = await serve(database)
    const raw = await signedIn(url, `Bearer ${await token({}, { secondsLeft: 2 })}`)
    raw.send(subscribe('1', 'subscription { silence }'))
    await until(() => seen.openTicks === 1 && server.subscriptions() === 1, 'the stream is open')
    const closed = await raw.closed
    expect(closed).toMatchObject({ code: 4403, reason: expect.stringContaining('TOKEN_EXPIRED') })
    await until(() => seen.openTicks === 0 && server.subscriptions() === 0, 'the stream is let go')
  })

  test('that a ping brings lets the socket outlive the first one', async () => {
    const { url } = await serve(database)
    const now = Math.floor(Date.now() / 1000)
    const exp = now + 600
    // Whole seconds: of three at least two are left.
    const raw = await signedIn(url, `Bearer ${await token({ exp: now + 3 })}`)
    raw.send({ type: 'ping', payload: { authorization: `Bearer ${await token({ exp, scope: 'enqueue_jobs' })}` } })
    await until(() => typed(raw, 'pong').length > 0, 'the pong comes')
    expect(typed(raw, 'pong')[0]).toEqual({ type: 'pong', payload: { expiresAt: new Date(exp * 1000).toISOString() } })
    // Past the end of the first token.
    await delay((now + 3) * 1000 + 500 - Date.now())
    expect(raw.socket.readyState).toBe(WebSocket.OPEN)
    raw.send(subscribe('1', '{ who scopes }'))
    await until(() => typed(raw, 'next').length > 0, 'the answer comes')
    expect(typed(raw, 'next')[0]).toMatchObject({ payload: { data: { who: 'ada', scopes: ['ENQUEUE_JOBS'] } } })
    raw.socket.close()
  })

  test.each([
    ['of another principal', () => token({ sub: 'eve' })],
    ['that is no good', async () => 'nonsense'],
  ])('%s in a ping closes with 4403', async (_, make) => {
    const { url } = await serve(database)
    const raw = await signedIn(url, `Bearer ${await token()}`)
    raw.send({ type: 'ping', payload: { authorization: `Bearer ${await make()}` } })
    expect((await raw.closed).code).toBe(4403)
    expect(typed(raw, 'pong')).toEqual([])
  })
})

test('a plain ping is answered', async () => {
  const { url } = await serve(database)
  const raw = await signedIn(url)
  raw.send({ type: 'ping' })
  await until(() => typed(raw, 'pong').length > 0, 'the pong comes')
  expect(typed(raw, 'pong')).toEqual([{ type: 'pong' }])
  raw.socket.close()
})

test('G05: errors are masked, and harm no other operation on the socket', async () => {
  const { url, lines } = await serve(database, { thrown: () => new Error('connect to 10.0.0.7 as hunter2') })
  const raw = await signedIn(url)
  raw.send(subscribe('stream', 'subscription { silence }'))
  raw.send(subscribe('fail', '{ fail }'))
  raw.send(subscribe('refused', 'subscription { refused }'))
  raw.send(subscribe('invalid', '{ nothing }'))
  raw.send(subscribe('coerce', '{ echo(number: "hunter2") }'))
  await until(
    () =>
      typed(raw, 'error').length >= 2 && raw.messages.some(({ id, type }) => id === 'refused' && type === 'complete'),
    'all are answered',
  )
  await until(() => typed(raw, 'next').some(({ id }) => id === 'fail'), 'the failure is told')
  const text = JSON.stringify(raw.messages)
  expect(text).not.toMatch(/hunter2|10\.0\.0\.7/)
  expect(typed(raw, 'next').find(({ id }) => id === 'fail')).toMatchObject({
    payload: { errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: expect.any(String) } }] },
  })
  expect(text).toContain('NOT_FOUND')
  expect(text).not.toContain('"http"')
  expect(lines).toHaveLength(1)
  expect(raw.socket.readyState).toBe(WebSocket.OPEN)
  raw.socket.close()
})

test('D07: a frame above 64 KiB ends the socket, not the process', async () => {
  const { url } = await serve(database)
  const raw = await signedIn(url)
  raw.send(`{"type":"ping","payload":{"x":"${'x'.repeat(70_000)}"}}`)
  expect((await raw.closed).code).toBe(1009)
  const fresh = await rawSocket(url)
  fresh.send(JSON.stringify({ type: 'connection_init', payload: { x: 'x'.repeat(1_000_000) } }))
  expect((await fresh.closed).code).toBe(1009)
  expect((await ask(url, '{ who }')).status).toBe(200)
})

test.each([
  ['garbage', ['not json'], 4400],
  ['an unknown message', [{ type: 'whatever' }], 4400],
  ['a subscription before the init', [subscribe('1', '{ who }')], 4401],
  ['two inits', [{ type: 'connection_init' }, { type: 'connection_init' }], 4429],
  [
    'an id that is in use',
    [{ type: 'connection_init' }, 'ack', subscribe('1', 'subscription { silence }'), subscribe('1', '{ who }')],
    4409,
  ],
])('S10: %s closes with a code', async (_, messages, code) => {
  const { url } = await serve(database)
  const raw = await rawSocket(url)
  for (const message of messages) {
    if (message === 'ack') await until(() => typed(raw, 'connection_ack').length > 0, 'the socket is acknowledged')
    else raw.send(message)
  }
  expect((await raw.closed).code).toBe(code)
  expect((await ask(url, '{ who }')).status).toBe(200)
})

test('stopping what never started harms nothing', async () => {
  const { url } = await serve(database)
  const raw = await signedIn(url)
  raw.send({ type: 'complete', id: 'nobody' })
  raw.send(subscribe('1', '{ who }'))
  await until(() => typed(raw, 'complete').length > 0, 'the answer comes')
  expect(raw.socket.readyState).toBe(WebSocket.OPEN)
  raw.socket.close()
})

test('a socket that says nothing is closed after 3 s', async () => {
  const { url } = await serve(database)
  const started = performance.now()
  const raw = await rawSocket(url)
  expect((await raw.closed).code).toBe(4408)
  expect(performance.now() - started).toBeGreaterThan(2_500)
})

test('another protocol is refused', async () => {
  const { url } = await serve(database)
  await expect(rawSocket(url, { protocol: 'graphql-ws' })).rejects.toThrow(/subprotocol/)
})

describe('S07: limits', () => {
  test('the 51st subscription of a socket is an error, the others go on', async () => {
    const { url, seen, server } = await serve(database)
    const raw = await signedIn(url)
    for (let index = 0; index < 60; index++) raw.send(subscribe(String(index), 'subscription { silence }'))
    await until(() => typed(raw, 'error').length === 10 && seen.openTicks === 50, '50 run and 10 are refused')
    expect(typed(raw, 'error')[0]).toMatchObject({ payload: [{ extensions: { code: 'RATE_LIMITED' } }] })
    expect(server.subscriptions()).toBe(50)
    raw.send({ type: 'complete', id: '0' })
    await until(() => seen.openTicks === 49, 'one is let go')
    raw.send(subscribe('again', 'subscription { silence }'))
    await until(() => seen.openTicks === 50, 'its place is taken')
    raw.socket.close()
    await until(() => seen.openTicks === 0 && server.subscriptions() === 0, 'all are let go')
  })

  test('sockets of a user are counted, those of a service are not', async () => {
    const { url } = await serve(database, { socketLimits: { perUser: 2 } })
    const user = `Bearer ${await token()}`
    const first = await signedIn(url, user)
    await signedIn(url, user)
    const third = await rawSocket(url)
    third.send({ type: 'connection_init', payload: { authorization: user } })
    expect(await third.closed).toMatchObject({ code: 4429, reason: expect.stringContaining('2 sockets') })
    first.socket.close()
    await first.closed
    await until(
      () =>
        signedIn(url, user).then(
          () => true,
          () => false,
        ),
      'the place is free again',
    )
    await Promise.all([signedIn(url), signedIn(url), signedIn(url)])
  })

  test('sockets that have not signed in are counted by address', async () => {
    const { url } = await serve(database, { socketLimits: { perAddress: 2 } })
    const first = await rawSocket(url)
    await rawSocket(url)
    await expect(rawSocket(url)).rejects.toThrow(/429/)
    first.send({ type: 'connection_init', payload: { authorization: admin } })
    await until(() => typed(first, 'connection_ack').length > 0, 'the socket is acknowledged')
    await rawSocket(url)
  })

  test('there is an end to sockets in all', async () => {
    const { url } = await serve(database, { socketLimits: { inAll: 1 } })
    await rawSocket(url)
    await expect(rawSocket(url)).rejects.toThrow(/503/)
  })
})

describe('origins', () => {
  test('S08: a foreign page gets no socket, a listed one does, the own one does', async () => {
    const { url } = await serve(database, { config: { allowedOrigins: ['https://app.example'] } })
    await expect(rawSocket(url, { origin: 'https://evil.example' })).rejects.toThrow(/403/)
    expect((await rawSocket(url, { origin: 'https://app.example' })).socket.readyState).toBe(WebSocket.OPEN)
    expect((await rawSocket(url, { origin: url })).socket.readyState).toBe(WebSocket.OPEN)
  })

  test('other paths have no sockets', async () => {
    const { url } = await serve(database)
    await expect(rawSocket(url.replace(/$/, '/other'))).rejects.toThrow(/404/)
  })
})

test('S12: when the server stops, sockets are told to come back, one after the other', async () => {
  const { url, server, seen } = await serve(database)
  const sockets = await Promise.all([signedIn(url), signedIn(url), signedIn(url)])
  for (const raw of sockets) raw.send(subscribe('1', 'subscription { silence }'))
  await until(() => seen.openTicks === 3, 'all are open')
  const times = sockets.map(({ closed }) => closed.then(({ code }) => ({ code, at: performance.now() })))
  await server.stop()
  const ends = await Promise.all(times)
  expect(ends.map(({ code }) => code)).toEqual([1012, 1012, 1012])
  expect(Math.max(...ends.map(({ at }) => at)) - Math.min(...ends.map(({ at }) => at))).toBeGreaterThan(100)
  await until(() => seen.openTicks === 0, 'all are let go')
  await expect(rawSocket(url)).rejects.toThrow(/ECONNREFUSED/)
})

test('G06: coercion names the place and never the value, however deep and odd', async () => {
  const { url } = await serve(database)
  const odd = 'x"; at "hunter2"; found: hunter2'
  const raw = await signedIn(url)
  const variables = { input: { name: 'n', number: odd, extra: { secret: odd } }, number: odd, kind: odd }
  const query =
    'query($input: Pair!, $number: Int!, $kind: Color!) { pair(input: $input, number: $number, color: $kind) }'
  raw.send({ type: 'subscribe', id: '1', payload: { query, variables } })
  await until(() => typed(raw, 'next').length > 0, 'the answer comes')
  const overHttp = await ask(url, query, { variables })
  const literal = await ask(
    url,
    '{ pair(input: { name: "n", number: "hunter2", extra: "hunter2" }, number: "hunter2", color: hunter2) }',
  )
  expect(overHttp.status).toBe(400)
  for (const answer of [raw.messages, overHttp.body, literal.body])
    expect(JSON.stringify(answer)).not.toContain('hunter2')
  expect(overHttp.body.errors!.map(({ message }) => message).join()).toMatch(/\$input" is not valid at "input\.number"/)
  raw.socket.close()
})

test('S09: quiet streams are kept alive, and who answers no ping is ended', { timeout: 40_000 }, async () => {
  const { url } = await serve(database)
  const leave = new AbortController()
  const stream = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: 'subscription { silence }' }),
    signal: leave.signal,
  })
  const heard: string[] = []
  void (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) heard.push(chunk)
  })().catch(() => undefined)
  let pings = 0
  const alive = await rawSocket(url)
  alive.send({ type: 'connection_init' })
  alive.socket.on('ping', () => pings++)
  const deaf = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { autoPong: false })
  const ended = new Promise((resolve) => deaf.once('close', resolve))
  deaf.once('open', () => deaf.send('{"type":"connection_init"}'))
  const comments = () => heard.join('').match(/^:$/gm)?.length ?? 0
  await until(() => pings >= 2 && comments() >= 3, 'two keep-alives have come', 30_000)
  await ended
  expect(alive.socket.readyState).toBe(WebSocket.OPEN)
  leave.abort()
})
