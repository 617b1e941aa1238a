import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chainWebhook } from '../../src/sql/chain-webhook.ts'
import { disableWebhook } from '../../src/sql/disable-webhook.ts'
import { fanOutEvents } from '../../src/sql/fan-out-events.ts'
import { tryFanOutLock } from '../../src/sql/try-fan-out-lock.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { outboxOf, quickRetries, reachesLoopback } from './outbox-support.ts'
import { startWorkers, type Workers } from './support.ts'

const env = { ...reachesLoopback, STELLWERK_KIND_OUTBOX_DISPATCH: quickRetries }

let database: TestDatabase
let outbox: ReturnType<typeof outboxOf>
let workers: Workers
let receiver: WebhookReceiver

beforeAll(async () => {
  database = await testDatabase()
  outbox = outboxOf(database)
  workers = await startWorkers(database, { env })
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})
beforeEach(async () => {
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  await outbox.clear()
  await receiver.stop()
})

describe('KINDS 5.1', () => {
  test('KINDS 5.1: a rolled-back event is never sent, a committed one arrives once and verifies', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    const tenant = await outbox.tenant()
    const client = await database.pool.connect()
    const insert = (type: string) =>
      client.query(`insert into mdm.aa_outbox_event (tenant_id, event_type, payload) values ($1, $2, '{"n": 1}')`, [
        tenant,
        type,
      ])
    await client.query('begin')
    await insert('order.lost')
    await client.query('rollback')
    await client.query('begin')
    await insert('order.placed')
    await client.query('commit')
    client.release()

    await outbox.reached(endpoint, ['delivered'])
    expect(receiver.received.map(({ event }) => [event.type, event.data])).toEqual([['order.placed', { n: 1 }]])
    const [request] = receiver.received
    expect(verifies(endpoint.secret, request!)).toBe(true)
    expect(verifies(endpoint.secret, { ...request!, body: request!.body.replace('1', '2') })).toBe(false)
    expect(request!.headers['webhook-id']).toMatch(/^msg_[0-9a-f-]{36}$/)
    expect(request!.headers['content-type']).toBe('application/json')
  })
})

describe('KINDS 5.2', () => {
  test('KINDS 5.2: 8 producers on 5 aggregates with 5 % 503, two instances: nothing is lost, nothing ordered is overtaken, no deadlock', async () => {
    const second = await startWorkers(database, { env })
    const other = await startWebhookReceiver()
    const plain = await outbox.endpoint(receiver.url)
    const ordered = await outbox.endpoint(other.url, { ordered: true })
    let count = 0
    for (const each of [receiver, other]) each.answer = () => ((count += 1) % 20 === 0 ? 503 : 200)
    await database.sql('create table thing (id int primary key, seq int not null default 0)')
    await database.sql('insert into thing (id) select generate_series(1, 5)')
    const tenant = await outbox.tenant()

    const produce = async (producer: number): Promise<void> => {
      const client = await database.pool.connect()
      for (let nth = 0; nth < 50; nth += 1) {
        await client.query('begin')
        const thing = 1 + ((producer + nth) % 5)
        const { rows } = await client.query<{ seq: number }>(
          'update thing set seq = seq + 1 where id = $1 returning seq',
          [thing],
        )
        await client.query(
          `insert into mdm.aa_outbox_event (tenant_id, event_type, aggregate_type, aggregate_id, payload)
           values ($1, 'thing.changed', 'thing', $2::text, jsonb_build_object('thing', $2::int, 'seq', $3::int))`,
          [tenant, thing, rows[0]!.seq],
        )
        await client.query('commit')
      }
      client.release()
    }
    await Promise.all(Array.from({ length: 8 }, (_, producer) => produce(producer)))

    for (const endpoint of [plain, ordered]) await outbox.reached(endpoint, Array(400).fill('delivered'), 100_000)
    const ids = (each: WebhookReceiver) => new Set(each.received.map(({ headers }) => headers['webhook-id']))
    expect(ids(receiver).size).toBe(400)
    expect(ids(other).size).toBe(400)
    expect(receiver.received.every((request) => verifies(plain.secret, request))).toBe(true)
    expect(other.received.every((request) => verifies(ordered.secret, request))).toBe(true)
    // As the receiver sees them: an event that it refused comes again before any later one of its aggregate.
    const last = new Map<unknown, number>()
    const inversions = other.received.filter(({ event }) => {
      const seq = event.data['seq'] as number
      const before = last.get(event.data['thing']) ?? 0
      last.set(event.data['thing'], seq)
      return seq !== before && seq !== before + 1
    })
    expect(inversions).toEqual([])
    expect(other.most()).toBe(1)
    const [stats] = await database.sql<{ deadlocks: number }>(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    expect(stats!.deadlocks).toBe(0)
    await second.stop()
    await other.stop()
  }, 120_000)

  test('KINDS 5.2: of two fan-outs of a tenant at once the second goes back with its attempt; no event comes twice or too early', async () => {
    const endpoint = await outbox.endpoint(receiver.url, { ordered: true })
    const tenant = await outbox.tenant()
    const [{ now }] = (await database.sql<{ now: Date }>('select now()')) as [{ now: Date }]
    await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('outbox_dispatch', 'test')`)
    await workers.rulesInForce()
    const fanOuts = () =>
      database.sql<{ attempts: number; status: string; releases: number }>(
        `select attempts, status, (select count(*)::int from mdm.aa_audit_log a where a.job_id = j.id and a.action = 'job_released') as releases
           from mdm.aa_job j where payload ->> 'phase' = 'fanout' and tenant_id = $1 and created_at > $2 order by id`,
        [tenant, now],
      )
    const ids = [await outbox.publish('thing.changed', { seq: 1 }, '1')]
    // The first fan-out, as another instance runs it, up to its commit.
    const other = await database.pool.connect()
    try {
      await other.query('begin')
      expect(await tryFanOutLock(other, tenant)).toEqual([{ mine: true }])
      expect(await fanOutEvents(other, tenant, 500)).toEqual([{ events: 1, deliveries: 1, ordered: [endpoint.id] }])
      await chainWebhook(other, endpoint.id)
      await database.sql(`delete from mdm.aa_queue_pause where job_kind = 'outbox_dispatch'`)
      ids.push(await outbox.publish('thing.changed', { seq: 2 }, '1'))
      await until(
        async () => (await fanOuts()).every(({ releases }) => releases >= 2),
        'the fan-outs of the workers have gone back twice each',
        15_000,
      )
      expect(await fanOuts()).toHaveLength(2)
      expect(await outbox.deliveries(endpoint)).toEqual([])
      await other.query('commit')
    } finally {
      other.release(true)
    }
    await outbox.reached(endpoint, ['delivered', 'delivered'])
    const ended = await until(async () => {
      const jobs = await fanOuts()
      return jobs.every(({ status }) => status === 'done') ? jobs : null
    }, 'the fan-outs are done')
    for (const { attempts } of ended) expect(attempts).toBeLessThanOrEqual(1)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(ids.map((id) => `msg_${id}`))
  })

  test('fan-outs that wait are absorbed by the one that runs, each with its row in the journal', async () => {
    const [{ now }] = (await database.sql<{ now: Date }>('select now()')) as [{ now: Date }]
    const pause = `insert into mdm.aa_queue_pause (job_kind, paused_by) values ('outbox_dispatch', 'test')`
    await database.sql(pause)
    await workers.rulesInForce()
    const endpoint = await outbox.endpoint(receiver.url)
    for (let nth = 0; nth < 30; nth += 1) await outbox.publish('many.events', { nth })
    await database.sql(`delete from mdm.aa_queue_pause where job_kind = 'outbox_dispatch'`)
    await outbox.reached(endpoint, Array(30).fill('delivered'))
    const rows = await database.sql<{ absorbed: boolean; jobs: number; whole: boolean }>(
      `select j.claimed_at is null as absorbed, count(*)::int as jobs,
              bool_and((select array_agg(a.revision order by a.revision) from mdm.aa_audit_log a where a.job_id = j.id and a.action <> 'job_released')
                       = case when j.claimed_at is null then array[1, 2] else array[1, j.revision] end) as whole
         from mdm.aa_job j where payload ->> 'phase' = 'fanout' and status = 'done' and created_at > $1 group by 1`,
      [now],
    )
    const absorbed = rows.find((row) => row.absorbed)
    expect(absorbed?.jobs).toBeGreaterThan(10)
    expect(absorbed?.whole).toBe(true)
  })

  test('an event that nobody wants is dispatched to nobody', async () => {
    await outbox.endpoint(receiver.url, { eventTypes: ['order.placed', 'invoice.*'] })
    const unwanted = await outbox.publish('order.lost')
    const wanted = [await outbox.publish('order.placed'), await outbox.publish('invoice.sent')]
    await until(() => receiver.received.length === 2, 'the wanted ones arrived')
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set(wanted.map((id) => `msg_${id}`)),
    )
    const dispatched = () =>
      database.sql(`select 1 from mdm.aa_outbox_event where event_id = $1 and status = 'dispatched'`, [unwanted])
    await until(async () => (await dispatched()).length === 1, 'the unwanted one is dispatched')
  })

  test('a payload keeps what JavaScript would lose', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    await database.sql(
      `insert into mdm.aa_outbox_event (tenant_id, event_type, payload) values ($1, 'big.number', '{"n": 12345678901234567890.123456789}')`,
      [await outbox.tenant()],
    )
    await outbox.reached(endpoint, ['delivered'])
    expect(receiver.received[0]!.body).toContain('12345678901234567890.123456789')
    expect(verifies(endpoint.secret, receiver.received[0]!)).toBe(true)
  })
})

describe('KINDS 5, HTTP', () => {
  test('beyond 20 kB the receiver gets a reference, signed and the same at every attempt', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = (_, __, nth) => (nth === 0 ? 500 : 200)
    const eventId = await outbox.publish('report.made', { text: 'x'.repeat(20_000) }, '7')
    const [delivery] = await outbox.reached(endpoint, ['delivered'])
    const [first, second] = receiver.received
    expect(first!.event).toEqual({
      type: 'report.made',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      thin: true,
      data: {
        delivery_id: `delivery_${delivery!.id}`,
        event_id: eventId,
        tenant_id: await outbox.tenant(),
        aggregate_type: 'thing',
        aggregate_id: '7',
        payload_bytes: 20_012,
      },
    })
    expect(second!.body).toBe(first!.body)
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
    for (const request of [first!, second!]) expect(verifies(endpoint.secret, request)).toBe(true)
  })

  test('up to 20 kB, and of the bytes that are sent, it gets the payload', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    // {"text": "..."} as PostgreSQL writes it: 12 bytes beside the text, of which a letter with an accent has two.
    const [whole, thin] = [{ text: 'x'.repeat(19_988) }, { text: `é${'x'.repeat(19_987)}` }]
    await outbox.publish('report.made', whole)
    await outbox.reached(endpoint, ['delivered'])
    await outbox.publish('report.made', thin)
    await outbox.reached(endpoint, ['delivered', 'delivered'])
    expect(receiver.received[0]!.event).toEqual({
      type: 'report.made',
      timestamp: expect.any(String),
      data: whole,
    })
    expect(receiver.received[1]!.event).toMatchObject({ thin: true, data: { payload_bytes: 20_001 } })
  })
})

describe('KINDS 5.3', () => {
  test('KINDS 5.3: taken, but the session that records it is killed: recorded all the same, and sent once', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    const client = await database.pool.connect()
    receiver.answer = async () => {
      await client.query('begin')
      await client.query('select 1 from mdm.aa_webhook_delivery where subscription_id = $1 for update', [endpoint.id])
      return 200
    }
    await outbox.publish('order.placed')
    const killed = await until(async () => {
      const rows = await database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%pending -> delivered%'`,
      )
      return rows.length
    }, 'the session that records is killed')
    await client.query('rollback')
    client.release()
    expect(killed).toBe(1)
    await outbox.reached(endpoint, ['delivered'])
    expect(receiver.received).toHaveLength(1)
  })

  test('KINDS 5.3: taken and recorded, but the run is lost before its end: nothing is sent again', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    await outbox.publish('order.placed')
    const [delivery] = await outbox.reached(endpoint, ['delivered'])
    await workers.reached(delivery!.jobId!, 'done')
    // As recovery does with the job of a process that died between the two commits.
    await database.sql(`update mdm.aa_job set status = 'pending', available_at = now() where id = $1`, [
      delivery!.jobId,
    ])
    await workers.reached(delivery!.jobId!, 'done')
    expect((await workers.job(delivery!.jobId!)).result).toEqual({ status: 'delivered' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('KINDS 5.4', () => {
  test.each([
    ['seconds', 503, (): string => '2'],
    ['a date', 429, (): string => new Date(Date.now() + 3_000).toUTCString()],
  ] as const)('KINDS 5.4, H05: %s in Retry-After hold the whole endpoint back', async (_, status, retryAfter) => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = (__, response, nth): number | void => {
      if (nth > 0) return 200
      response.writeHead(status, { 'retry-after': retryAfter() }).end()
    }
    await outbox.publish('order.placed', { nth: 0 })
    await until(async () => (await outbox.state(endpoint)).throttledMs > 1_000, 'the endpoint is throttled')
    await outbox.publish('order.placed', { nth: 1 })
    await outbox.reached(endpoint, ['delivered', 'delivered'], 20_000)
    const [refused, ...later] = receiver.received
    // A date has whole seconds.
    for (const { at } of later) expect(at - refused!.at).toBeGreaterThan(1_900)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
    // Who only waited for the endpoint has lost no attempt.
    const [first, second] = await outbox.deliveries(endpoint)
    expect(first!.attempts + second!.attempts).toBe(3)
    expect((await workers.job(second!.jobId!)).attempts).toBe(1)
  })

  test('KINDS 5.4: seven seconds are seven seconds', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = (_, response) => void response.writeHead(503, { 'retry-after': '7' }).end()
    await outbox.publish('order.placed')
    const { throttledMs } = await until(async () => {
      const state = await outbox.state(endpoint)
      return state.throttledMs > 0 ? state : null
    }, 'the endpoint is throttled')
    const [delivery] = await outbox.deliveries(endpoint)
    const job = await until(async () => {
      const state = await workers.job(delivery!.jobId!)
      return state.status === 'pending' && state.attempts === 1 ? state : null
    }, 'its job waits')
    expect(throttledMs).toBeGreaterThan(5_000)
    expect(throttledMs).toBeLessThanOrEqual(7_000)
    expect(job.waitMs).toBeGreaterThan(5_000)
  })

  test('KINDS 5.4, H02: a redirect is not followed, and nothing of an answer is kept', async () => {
    const secret = await startWebhookReceiver()
    const endpoint = await outbox.endpoint(receiver.url)
    // The second try comes 50 ms after the first, and is not to end before the first was looked at.
    const looked = Promise.withResolvers<number>()
    receiver.answer = (_, response, nth) => {
      if (nth > 0) return looked.promise
      response.writeHead(302, { location: `${secret.url}/secret` }).end('the body of the answer')
    }
    await outbox.publish('order.placed')
    const delivery = await until(
      async () => (await outbox.deliveries(endpoint)).find(({ attempts }) => attempts === 1),
      'it was refused',
    )
    looked.resolve(200)
    expect(delivery.lastStatus).toBe(302)
    expect(delivery.lastError).toBe('The receiver answered 302. Redirects are not followed.')
    await outbox.reached(endpoint, ['delivered'])
    expect(secret.connections()).toBe(0)
    await secret.stop()
  })
})

describe('KINDS 5.5', () => {
  test('KINDS 5.5, H05: 410 switches the endpoint off and holds what waits', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = () => 410
    await outbox.publish('order.placed')
    await outbox.reached(endpoint, ['held'])
    await outbox.publish('order.placed')
    const [first] = await outbox.reached(endpoint, ['held', 'held'])
    expect(await outbox.state(endpoint)).toMatchObject({
      status: 'disabled',
      reason: 'The receiver answered 410: it wants no more events.',
    })
    expect(receiver.received).toHaveLength(1)
    expect(first).toMatchObject({ attempts: 1, lastStatus: 410 })
    await workers.reached(first!.jobId!, 'done')
    const audit = await database.sql(
      `select actor_principal_id as actor, reason, payload ->> 'status' as status from mdm.aa_audit_log
        where action = 'webhook_change' and payload ->> 'webhook_endpoint_id' = $1 order by id desc limit 1`,
      [endpoint.id],
    )
    expect(audit).toEqual([
      {
        actor: 'system:outbox_dispatch',
        reason: 'The receiver answered 410: it wants no more events.',
        status: 'disabled',
      },
    ])
    expect(workers.events.filter(({ type }) => type === 'webhook:disabled')).toContainEqual(
      expect.objectContaining({ endpointId: endpoint.id }),
    )
  })

  test('KINDS 5.5: five days and ten failures switch it off, less does not; other endpoints hear of it', async () => {
    const witness = await startWebhookReceiver()
    await outbox.endpoint(witness.url, { eventTypes: ['webhook.disabled'] })
    const endpoint = await outbox.endpoint(receiver.url, { eventTypes: ['order.placed'] })
    receiver.answer = () => 500
    await outbox.publish('order.placed')
    await until(async () => (await outbox.state(endpoint)).failures >= 2, 'it has failed twice')
    expect((await outbox.state(endpoint)).status).toBe('active')
    await database.sql(
      `update mdm.aa_webhook_subscription set consecutive_failures = 9, first_failure_at = now() - interval '5 days 1 second' where id = $1`,
      [endpoint.id],
    )
    await outbox.reached(endpoint, ['held'])
    expect((await outbox.state(endpoint)).reason).toMatch(
      /^It has taken nothing for five days, 1\d attempts in a row\./,
    )
    await until(() => witness.received.length === 1, 'the other endpoint was told')
    expect(witness.received[0]!.event).toMatchObject({
      type: 'webhook.disabled',
      data: { endpoint_id: `endpoint_${endpoint.id}` },
    })
    await witness.stop()
  })
})

describe('KINDS 5.5: whoever looks after an endpoint gets a mail when it is switched off', () => {
  const mails = () =>
    workers
      .mailbox!.list()
      .filter(({ subject }) => subject.startsWith('Webhooks to') || subject.startsWith('Webhooks an'))
  const mailTo = (address: string) =>
    until(() => mails().find(({ to }) => to === address), `the mail to ${address} came`, 20_000)

  test('by a 410, in the same transaction, once, without the path of its URL', async () => {
    const endpoint = await outbox.endpoint(`${receiver.url}/secret`, { notifyEmail: 'ada@example.org' })
    await outbox.endpoint(`${receiver.url}/other`, { eventTypes: ['none'], notifyEmail: 'grace@example.org' })
    receiver.answer = () => 410
    await outbox.publish('order.placed')
    await outbox.publish('order.placed')
    await outbox.reached(endpoint, ['held', 'held'])
    const mail = await mailTo('ada@example.org')
    expect(mail.text).toContain(`endpoint_${endpoint.id}`)
    expect(mail.text).toContain(`127.0.0.1:${receiver.port}`)
    expect(mail.text).toContain('The receiver answered 410')
    expect(mail.text).not.toContain('secret')
    const [job] = await database.sql(
      `select (select count(*)::int from mdm.aa_job where job_kind = 'email_send' and payload -> 'to' ->> 'address' like '%@example.org') as jobs,
              bool_and(j.created_at = s.disabled_at) as same
         from mdm.aa_job j, mdm.aa_webhook_subscription s
        where j.job_kind = 'email_send' and j.payload -> 'to' ->> 'address' = s.notify_email and s.id = $1`,
      [endpoint.id],
    )
    expect(job).toEqual({ jobs: 1, same: true })
  })

  test('by five days of failure, in the language of its tenant', async () => {
    const endpoint = await outbox.endpoint(receiver.url, { notifyEmail: 'konrad@example.org' })
    await database.sql(
      `update mdm.aa_webhook_subscription set consecutive_failures = 9, first_failure_at = now() - interval '6 days' where id = $1`,
      [endpoint.id],
    )
    receiver.answer = () => 500
    await database.sql(`update mdm.aa_tenant set default_language = 'de' where id = $1`, [await outbox.tenant()])
    await outbox.publish('order.placed')
    await outbox.reached(endpoint, ['held'])
    expect((await mailTo('konrad@example.org')).subject).toBe(
      `Webhooks an 127.0.0.1:${receiver.port} wurden abgeschaltet`,
    )
    await database.sql(`update mdm.aa_tenant set default_language = 'en' where id = $1`, [await outbox.tenant()])
  })

  test('of a closed tenant it is switched off all the same, without a mail: nothing may be enqueued for it', async () => {
    const endpoint = await outbox.endpoint(receiver.url, { notifyEmail: 'nobody@example.org' })
    const client = await database.pool.connect()
    const inTenant = async (status: string) => {
      await client.query('begin')
      await client.query('update mdm.aa_tenant set status = $2 where id = $1', [await outbox.tenant(), status])
      const [off] = await disableWebhook(client, endpoint.id, 'It is gone.')
      await client.query('rollback')
      return off
    }
    expect(await inTenant('active')).toMatchObject({ id: endpoint.id, notify: 'nobody@example.org' })
    expect(await inTenant('closed')).toMatchObject({ id: endpoint.id, notify: null })
    client.release()
  })
})

describe('a delivery follows its job', () => {
  test('it dies with it, comes back with it, and is cancelled with it; an ordered endpoint goes on', async () => {
    const endpoint = await outbox.endpoint(receiver.url, { ordered: true })
    receiver.answer = ({ event }) => (event.data['bad'] === true ? 400 : 200)
    await outbox.publish('order.placed', { bad: true })
    const [first] = await until(async () => {
      const deliveries = await outbox.deliveries(endpoint)
      return deliveries[0]?.attempts ? deliveries : null
    }, 'the first has failed')
    await outbox.publish('order.placed', { bad: false })
    await outbox.reached(endpoint, ['pending', 'pending'])
    await database.sql(
      `update mdm.aa_job set status = 'dlq', last_error = 'enough' where id = $1 and status = 'pending'`,
      [first!.jobId],
    )
    await outbox.reached(endpoint, ['dead', 'delivered'])
    receiver.answer = () => 200
    await database.sql(`update mdm.aa_job set status = 'pending', attempts = 0, available_at = now() where id = $1`, [
      first!.jobId,
    ])
    const [again] = await outbox.reached(endpoint, ['delivered', 'delivered'])
    expect(again!.lastStatus).toBe(200)
  })

  test('attempts bound it: the last one leaves a dead letter', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = () => 400
    await outbox.publish('order.placed')
    const [delivery] = await outbox.reached(endpoint, ['dead'], 30_000)
    expect(delivery!.attempts).toBe(15)
    expect(receiver.received).toHaveLength(15)
    expect((await workers.job(delivery!.jobId!)).lastError).toBe('Error: The receiver answered 400.')
  }, 40_000)

  test('a discarded job leaves a cancelled delivery', async () => {
    const endpoint = await outbox.endpoint(receiver.url)
    receiver.answer = (_, response) => void response.writeHead(503, { 'retry-after': '60' }).end()
    await outbox.publish('order.placed')
    await until(async () => (await outbox.state(endpoint)).throttledMs > 0, 'the endpoint is throttled')
    const [delivery] = await outbox.deliveries(endpoint)
    await workers.reached(delivery!.jobId!, 'pending')
    await database.sql('delete from mdm.aa_job where id = $1', [delivery!.jobId])
    const [cancelled] = await outbox.reached(endpoint, ['cancelled'])
    expect(cancelled!.attempts).toBe(1)
  })
})

describe('events of jobs', () => {
  test('a dead letter is told to the endpoints that want it, and not of the outbox itself', async () => {
    const endpoint = await outbox.endpoint(receiver.url, { eventTypes: ['job.*'] })
    const jobId = await workers.enqueue({ kind: 'outbox_dispatch', payload: { phase: 'nonsense' } })
    await workers.reached(jobId, 'dlq')
    const mail = await workers.enqueue({ kind: 'email_send', payload: {} })
    await workers.reached(mail, 'dlq')
    await outbox.reached(endpoint, ['delivered'])
    expect(receiver.received[0]!.event).toMatchObject({
      type: 'job.dead_lettered',
      data: { job_id: mail, kind: 'email_send', status: 'dlq' },
    })
    await database.sql(`delete from mdm.aa_job where id = $1`, [mail])
    await outbox.reached(endpoint, ['delivered', 'delivered'])
    expect(receiver.received[1]!.event.type).toBe('job.discarded')
  })
})
