import { once } from 'node:events'
import type { LookupAddress } from 'node:dns'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { drawWebhookSecret } from '../../src/jobs/webhook-signature.ts'
import { createWebhookSender } from '../../src/workers/handlers/webhooks/send-webhook.ts'
import { createWebhookAgent, type Resolve } from '../../src/workers/handlers/webhooks/webhook-agent.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { outboxOf, quickRetries, reachesLoopback, secretKey } from './outbox-support.ts'
import { startWorkers, type Workers } from './support.ts'

const secret = drawWebhookSecret()
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** Sends one webhook, by an agent of its own. */
async function send(
  url: string,
  { allow = [] as string[], resolve = undefined as Resolve | undefined, totalMs = 5_000 } = {},
) {
  const agent = createWebhookAgent({ allow }, resolve)
  open.push(() => agent.destroy())
  const post = createWebhookSender({ agent, reach: { allow, strict: false }, totalMs })
  const begun = performance.now()
  const answer = await post({ url, id: 'msg_1', body: '{}', secrets: [secret] }, new AbortController().signal)
  return { answer, ms: performance.now() - begun }
}

const names = (...addresses: string[]): readonly LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

describe('H01: no connection leads inside', () => {
  let receiver: WebhookReceiver
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
  })
  afterEach(() => receiver.stop())

  const loopback = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '017700000001',
    '0',
    '[::ffff:127.0.0.1]',
    '[::1]',
    'localhost',
    '64:ff9b::7f00:1',
  ]

  test.each(loopback)('KINDS 5.6, H01: %s is never connected to', async (host) => {
    const named = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
    const { answer } = await send(`http://${named}:${receiver.port}/`)
    expect(answer).toMatchObject({ status: null, fault: 'forbidden' })
    expect(receiver.connections()).toBe(0)
  })

  test('KINDS 5.6, H01: a name with one address inside is refused, whatever the others are', async () => {
    for (const addresses of [
      names('1.1.1.1', '127.0.0.1'),
      names('127.0.0.1', '1.1.1.1'),
      names('2606:4700::1111', '::1'),
    ]) {
      const { answer } = await send(`http://rebind.test:${receiver.port}/`, {
        resolve: (_, done) => done(null, addresses),
      })
      expect(answer).toMatchObject({ fault: 'forbidden' })
    }
    expect(receiver.connections()).toBe(0)
  })

  test('KINDS 5.6, H01: a name that rebinds between two looks is looked at when it is connected to, and only once', async () => {
    let looks = 0
    const resolve: Resolve = (_, done) => {
      looks += 1
      done(null, looks === 1 ? names('192.0.2.1') : names('127.0.0.1'))
    }
    const first = await send(`http://rebind.test:${receiver.port}/`, { resolve, allow: ['192.0.2.0/24'], totalMs: 300 })
    expect(looks).toBe(1)
    expect(first.answer).toMatchObject({ status: null, fault: 'unreachable' })
    const second = await send(`http://rebind.test:${receiver.port}/`, { resolve, allow: ['192.0.2.0/24'] })
    expect(second.answer).toMatchObject({ status: null, fault: 'forbidden' })
    expect(receiver.connections()).toBe(0)
  })

  test('H01: the address that was looked at is connected to, under the name of the URL', async () => {
    const { answer } = await send(`http://hook.test:${receiver.port}/path?x=1`, {
      resolve: (_, done) => done(null, names('127.0.0.1')),
      allow: ['127.0.0.0/8'],
    })
    expect(answer).toEqual({ status: 200, retryAfter: null })
    expect(receiver.received[0]).toMatchObject({ path: '/path?x=1', headers: { host: `hook.test:${receiver.port}` } })
  })

  test('H01: TLS asks for the name of the URL, not for the address', async () => {
    let hello = ''
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (bytes) => {
        hello = bytes.toString('latin1')
        socket.destroy()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    open.push(async () => server.close())
    const { answer } = await send(`https://hook.test:${(server.address() as AddressInfo).port}/`, {
      resolve: (_, done) => done(null, names('127.0.0.1')),
      allow: ['127.0.0.0/8'],
    })
    expect(hello).toContain('hook.test')
    expect(answer).toMatchObject({ status: null, fault: 'unreachable' })
  })

  test('a name that nobody knows is tried again', async () => {
    const { answer } = await send('http://nobody.invalid/')
    expect(answer).toMatchObject({ status: null, fault: 'unreachable' })
  })
})

describe('H03: one deadline, and little is read', () => {
  /** A server that does what it likes with a connection. */
  const tcp = async (serve: (socket: Socket) => void): Promise<string> => {
    const server: Server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      serve(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    open.push(async () => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }
  const allow = ['127.0.0.0/8']
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'

  test('KINDS 5.8, H03: who accepts and never answers is left at the deadline', async () => {
    const url = await tcp(() => undefined)
    const { answer, ms } = await send(url, { allow, totalMs: 400 })
    expect(answer).toMatchObject({ fault: 'unreachable', error: 'The receiver did not answer within 0.4 s.' })
    expect(ms).toBeLessThan(5_000)
  })

  test('KINDS 5.8, H03: who drips its head is left at the deadline', async () => {
    const url = await tcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write('x'), 20)
      socket.once('close', () => clearInterval(drip))
    })
    const { answer } = await send(url, { allow, totalMs: 400 })
    expect(answer).toMatchObject({ fault: 'unreachable' })
  })

  test('KINDS 5.8, H03: of who drips its body the status was heard', async () => {
    const url = await tcp((socket) => {
      socket.write(`${head}content-length: 1000000\r\n\r\n`)
      const drip = setInterval(() => socket.write('x'), 20)
      socket.once('close', () => clearInterval(drip))
    })
    const { answer, ms } = await send(url, { allow })
    expect(answer).toMatchObject({ status: 200 })
    expect(ms).toBeLessThan(4_000)
  })

  test('KINDS 5.8, H03: an endless body is cut off after little, and the status counts', async () => {
    let written = 0
    const part = Buffer.alloc(64 * 1024)
    const closed = Promise.withResolvers<void>()
    const url = await tcp((socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
      const pour = (): void => {
        while (!socket.destroyed && socket.write(`10000\r\n${part.toString('latin1')}\r\n`, 'latin1'))
          written += part.length
        written += part.length
      }
      socket.on('drain', pour)
      socket.once('close', closed.resolve)
      pour()
    })
    const { answer } = await send(url, { allow })
    await closed.promise
    expect(answer).toMatchObject({ status: 200 })
    // What lies in the buffers of both ends; ten gigabytes were on offer.
    expect(written).toBeLessThan(32 * 1024 * 1024)
  })

  test('a broken body after a 2xx is a delivery all the same', async () => {
    const url = await tcp((socket) => socket.end(`${head}content-length: 100\r\n\r\nshort`))
    expect((await send(url, { allow })).answer).toMatchObject({ status: 200 })
  })

  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}`],
    ['nothing', ''],
  ])('an answer that is %s is no answer', async (_, text) => {
    const url = await tcp((socket) => socket.end(text))
    expect((await send(url, { allow })).answer).toMatchObject({ status: null, fault: 'unreachable' })
  })
})

describe('in the workers', () => {
  let database: TestDatabase
  let outbox: ReturnType<typeof outboxOf>
  let workers: Workers
  beforeAll(async () => {
    database = await testDatabase()
    outbox = outboxOf(database)
  })
  afterAll(() => database?.drop())
  const start = async (env: Record<string, string>) => {
    workers = await startWorkers(database, { env: { STELLWERK_KIND_OUTBOX_DISPATCH: quickRetries, ...env } })
    open.push(() => workers.stop())
  }
  const receiver = async () => {
    const started = await startWebhookReceiver()
    open.push(() => started.stop())
    return started
  }

  test('KINDS 5.6: an endpoint that lies inside is dead and switched off, and was never connected to', async () => {
    await start({ STELLWERK_SECRET_KEY: secretKey })
    const inside = await receiver()
    const endpoint = await outbox.endpoint(`http://127.0.0.1:${inside.port}/`)
    await outbox.publish('order.placed')
    const [delivery] = await outbox.reached(endpoint, ['dead'])
    expect(delivery!.lastError).toMatch(/not public/)
    expect(await outbox.state(endpoint)).toMatchObject({ status: 'disabled' })
    expect((await workers.job(delivery!.jobId!)).status).toBe('dlq')
    expect(inside.connections()).toBe(0)
    await outbox.clear()
  })

  test('H03: at most 2 requests an endpoint and 4 a host, and who hangs does not delay others', async () => {
    await start(reachesLoopback)
    const hanging = await receiver()
    hanging.answer = () => undefined
    const well = await receiver()
    const hangingEndpoints = await Promise.all(
      ['/a', '/b', '/c', '/d'].map((path) => outbox.endpoint(hanging.url + path, { eventTypes: ['slow'] })),
    )
    const wellEndpoint = await outbox.endpoint(well.url, { eventTypes: ['quick'] })
    for (let nth = 0; nth < 20; nth += 1) await outbox.publish('slow')
    await until(() => hanging.received.length >= 4, 'requests hang')
    for (let nth = 0; nth < 50; nth += 1) await outbox.publish('quick')
    await outbox.reached(wellEndpoint, Array(50).fill('delivered'))
    expect(hanging.received).toHaveLength(4)
    expect(hanging.most()).toBe(4)
    const paths = Map.groupBy(hanging.received, ({ path }) => path)
    for (const requests of paths.values()) expect(requests.length).toBeLessThanOrEqual(2)
    expect(well.most()).toBeLessThanOrEqual(2)
    // Who was sent away has lost no attempt.
    const [waiting] = await database.sql<{ attempts: number }>(
      `select max(j.attempts)::int as attempts from mdm.aa_job j join mdm.aa_webhook_delivery d on d.job_id = j.id
        where j.status = 'pending' and d.subscription_id = any ($1)`,
      [hangingEndpoints.map(({ id }) => id)],
    )
    expect(waiting!.attempts).toBe(0)
    await outbox.clear()
  })

  test('H03: a disabled endpoint with 50 pending events is not tried: they are held', async () => {
    await start(reachesLoopback)
    const gone = await receiver()
    gone.answer = () => 410
    const endpoint = await outbox.endpoint(gone.url, { eventTypes: ['order.placed'] })
    await database.sql(
      `insert into mdm.aa_outbox_event (tenant_id, event_type, payload) select $1, 'order.placed', '{}' from generate_series(1, 50)`,
      [await outbox.tenant()],
    )
    await outbox.reached(endpoint, Array(50).fill('held'))
    await until(
      async () => {
        const rows = await database.sql(`select 1 from mdm.aa_job where lane is not null or status = 'running'`)
        return rows.length === 0
      },
      'no job is left',
      25_000,
    )
    // Two at once, and who had been read just before it was switched off.
    expect(gone.received.length).toBeLessThan(10)
    await outbox.clear()
  })

  test('a process with another key sends nothing and counts nothing; with the right one it goes on', async () => {
    await start({ ...reachesLoopback, STELLWERK_SECRET_KEY: 'a key of somebody else' })
    const there = await receiver()
    const endpoint = await outbox.endpoint(there.url, { eventTypes: ['order.placed'] })
    await outbox.publish('order.placed')
    const [delivery] = await outbox.reached(endpoint, ['pending'])
    await until(async () => {
      const rows = await database.sql(`select 1 from mdm.aa_audit_log where job_id = $1 and action = 'job_released'`, [
        delivery!.jobId,
      ])
      return rows.length > 0
    }, 'its job went back')
    expect(await workers.job(delivery!.jobId!)).toMatchObject({ status: 'pending', attempts: 0 })
    expect(there.connections()).toBe(0)
    await open.pop()!()
    await open.pop()!()
    await start(reachesLoopback)
    const again = await receiver()
    await database.sql('update mdm.aa_webhook_subscription set url = $2 where id = $1', [endpoint.id, again.url])
    await database.sql('update mdm.aa_job set available_at = now() where id = $1', [delivery!.jobId])
    await outbox.reached(endpoint, ['delivered'], 20_000)
    await outbox.clear()
  }, 40_000)
})
