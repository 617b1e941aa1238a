import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let count = 0
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database?.drop())

async function tenant(status = 'active'): Promise<string> {
  const [row] = await database.sql<{ id: string }>(
    'insert into mdm.aa_tenant (tenant_key, name, status) values ($1, $1, $2) returning id',
    [`tenant-${(count += 1)}`, status],
  )
  return row!.id
}
async function endpoint(tenantId: string, eventTypes: readonly string[], more = ''): Promise<string> {
  const [row] = await database.sql<{ id: string }>(
    `insert into mdm.aa_webhook_subscription (tenant_id, url, event_types, secrets_enc, secrets_until, created_by ${more === '' ? '' : ', ordered, on_dlq'})
     values ($1, 'https://example.org', $2, array['x'::bytea], '{infinity}', 'test' ${more}) returning id`,
    [tenantId, eventTypes],
  )
  return row!.id
}
const insert = `insert into mdm.aa_outbox_event (tenant_id, event_type, payload) values ($1, 'a.b', '{}')`
const jobsOf = (tenantId: string) =>
  database.sql<{ status: string; phase: string; revision: number; journal: string[] }>(
    `select j.status, j.payload ->> 'phase' as phase, j.revision,
            array(select a.action::text from mdm.aa_audit_log a where a.job_id = j.id order by a.id) as journal
       from mdm.aa_job j where j.tenant_id = $1 and j.job_kind = 'outbox_dispatch' order by j.id`,
    [tenantId],
  )
const fanOut = { status: 'pending', phase: 'fanout', revision: 1, journal: ['job_enqueued'] }

describe('an event is never without its job', () => {
  test('no instance has registered the kind, and the tenant is closed: the writer succeeds all the same', async () => {
    const id = await tenant('closed')
    await database.sql(insert, [id])
    expect(await jobsOf(id)).toEqual([fanOut])
  })

  test('one job a tenant and transaction, whatever is rolled back to a savepoint', async () => {
    const [one, other] = [await tenant(), await tenant()]
    const client = await database.pool.connect()
    await client.query('begin')
    await client.query('savepoint s')
    await client.query(insert, [one])
    await client.query('rollback to s')
    for (let nth = 0; nth < 3; nth += 1) await client.query(insert, [one])
    await client.query(
      `insert into mdm.aa_outbox_event (tenant_id, event_type, payload) select id, 'a.b', '{}' from unnest($1::uuid[]) id`,
      [[one, other, one]],
    )
    await client.query('commit')
    await client.query(insert, [other])
    client.release()
    expect(await jobsOf(one)).toEqual([fanOut])
    expect(await jobsOf(other)).toEqual([fanOut, fanOut])
  })

  test('rolled back, neither is there', async () => {
    const id = await tenant()
    const client = await database.pool.connect()
    await client.query('begin')
    await client.query(insert, [id])
    await client.query('rollback')
    client.release()
    expect(await jobsOf(id)).toEqual([])
  })

  test('a writer who may touch nothing but the outbox is enough', async () => {
    const id = await tenant()
    const role = `writer_${crypto.randomUUID().replaceAll('-', '')}`
    const client = await database.pool.connect()
    await client.query(`create role ${role}`)
    await client.query(`grant usage on schema mdm to ${role}`)
    await client.query(`grant insert on mdm.aa_outbox_event to ${role}`)
    await client.query(`grant usage on all sequences in schema mdm to ${role}`)
    await client.query(`set role ${role}`)
    await client.query(insert, [id])
    await client.query('reset role')
    await client.query(`drop owned by ${role}`)
    await client.query(`drop role ${role}`)
    client.release()
    expect(await jobsOf(id)).toEqual([fanOut])
  })

  test.each([
    ['a type with a blank', `'a b', '{}'`],
    ['no type', `'', '{}'`],
    ['a type too long', `repeat('a', 129), '{}'`],
    ['no payload', `'a.b', null`],
    ['a payload too large', `'a.b', jsonb_build_object('x', repeat('x', 250000))`],
  ])('%s is refused', async (_, values) => {
    const id = await tenant()
    await expect(
      database.sql(`insert into mdm.aa_outbox_event (tenant_id, event_type, payload) values ($1, ${values})`, [id]),
    ).rejects.toThrow(/violates/)
    expect(await jobsOf(id)).toEqual([])
  })
})

describe('mdm.publish_event', () => {
  const publish = async (tenantId: string, type: string): Promise<string | null> => {
    const [row] = await database.sql<{ id: string | null }>(
      `select mdm.publish_event($1, $2, 'thing', '1', '{}') as id`,
      [tenantId, type],
    )
    return row!.id
  }

  test('a role needs the use of the schema and no other right', async () => {
    const id = await tenant()
    await endpoint(id, ['*'])
    const role = `writer_${crypto.randomUUID().replaceAll('-', '')}`
    const client = await database.pool.connect()
    await client.query(`create role ${role}`)
    await client.query(`grant usage on schema mdm to ${role}`)
    await client.query(`set role ${role}`)
    await client.query(`select mdm.publish_event($1, 'order.placed', 'thing', '1', '{}')`, [id])
    await client.query('reset role')
    await client.query(`drop owned by ${role}`)
    await client.query(`drop role ${role}`)
    client.release()
    expect(await jobsOf(id)).toEqual([fanOut])
  })

  test('a tenant that is not there is an error, not an event that nobody wants', async () => {
    await expect(
      database.sql(`select mdm.publish_event(mdm.tenant_of('no_such_tenant'), 'order.placed', 'thing', '1', '{}')`),
    ).rejects.toThrow('the event has no tenant')
  })

  test('writes nothing where no endpoint wants the type', async () => {
    const id = await tenant()
    expect(await publish(id, 'order.placed')).toBeNull()
    await endpoint(id, ['order.placed', 'invoice.*'])
    expect(await publish(id, 'order.lost')).toBeNull()
    expect(await publish(id, 'invoice')).toBeNull()
    expect(await jobsOf(id)).toEqual([])
    expect(await publish(id, 'order.placed')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await publish(id, 'invoice.sent')).not.toBeNull()
    expect(await jobsOf(id)).toHaveLength(2)
  })

  test('an endpoint that is switched off still wants what it misses', async () => {
    const id = await tenant()
    const paused = await endpoint(id, ['*'])
    await database.sql(`update mdm.aa_webhook_subscription set status = 'disabled' where id = $1`, [paused])
    expect(await publish(id, 'order.placed')).not.toBeNull()
  })
})

describe('an ordered endpoint', () => {
  const deliveries = async (endpointId: string) =>
    (
      await database.sql<{ state: string }>(
        `select status || case when job_id is null then '' else ' with a job' end as state from mdm.aa_webhook_delivery where subscription_id = $1 order by event_pk`,
        [endpointId],
      )
    ).map(({ state }) => state)
  async function waiting(onDlq: 'continue' | 'block') {
    const id = await tenant()
    const endpointId = await endpoint(id, ['*'], `, true, '${onDlq}'`)
    await database.sql(
      `insert into mdm.aa_webhook_delivery (tenant_id, subscription_id, event_pk, event_id, event_type) select $1, $2, n, gen_random_uuid(), 'a.b' from generate_series(1, 3) n`,
      [id, endpointId],
    )
    await database.sql('select mdm.chain_webhook($1)', [endpointId])
    return { id, endpointId }
  }
  const kill = (tenantId: string) =>
    database.sql(
      `update mdm.aa_job set status = 'dlq', last_error = 'enough' where tenant_id = $1 and status = 'pending'`,
      [tenantId],
    )

  test('has one delivery under way, the lowest', async () => {
    const { endpointId } = await waiting('continue')
    const [again] = await database.sql('select mdm.chain_webhook($1) as started', [endpointId])
    expect(again).toEqual({ started: false })
    expect(await deliveries(endpointId)).toEqual(['pending with a job', 'pending', 'pending'])
  })

  test('goes on behind a dead one, or waits for it, as it says', async () => {
    const on = await waiting('continue')
    await kill(on.id)
    expect(await deliveries(on.endpointId)).toEqual(['dead with a job', 'pending with a job', 'pending'])
    const blocked = await waiting('block')
    await kill(blocked.id)
    expect(await deliveries(blocked.endpointId)).toEqual(['dead with a job', 'pending', 'pending'])
    await database.sql(`delete from mdm.aa_job where tenant_id = $1`, [blocked.id])
    expect(await deliveries(blocked.endpointId)).toEqual(['cancelled with a job', 'pending with a job', 'pending'])
  })
})
