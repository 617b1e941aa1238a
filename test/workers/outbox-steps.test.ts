import { afterAll, beforeAll, expect, test } from 'vitest'
import { outboxSteps } from '../../src/workers/handlers/webhooks/outbox-steps.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let tenantId: string
let count = 0
beforeAll(async () => {
  database = await testDatabase()
  const [row] = await database.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
  tenantId = row!.id
})
afterAll(() => database?.drop())

const clean = async () => {
  const [step] = outboxSteps({ pool: database.pool, wakeup: { signal: () => undefined } })
  return step!.run({
    signal: new AbortController().signal,
    progress: async () => undefined,
    log: { info: () => undefined, warn: () => undefined },
  })
}
const endpoint = async (ordered = false): Promise<string> => {
  const [row] = await database.sql<{ id: string }>(
    `insert into mdm.aa_webhook_subscription (tenant_id, url, event_types, secrets_enc, secrets_until, created_by, ordered)
     values ($1, 'https://example.org', '{none}', array['x'::bytea], '{infinity}', 'test', $2) returning id`,
    [tenantId, ordered],
  )
  return row!.id
}
/** A dispatched event of some days ago, and what became of its delivery. */
async function delivered(endpointId: string | null, days: number, status = 'delivered'): Promise<number> {
  const type = `type.${(count += 1)}`
  const [event] = await database.sql<{ id: string }>(
    `insert into mdm.aa_outbox_event (tenant_id, event_type, payload, status, fanned_out_at, occurred_at)
     values ($1, $2, '{}', 'dispatched', now() - $3::int * interval '1 day', now() - $3::int * interval '1 day') returning id`,
    [tenantId, type, days],
  )
  if (endpointId !== null)
    await database.sql(
      `insert into mdm.aa_webhook_delivery (tenant_id, subscription_id, event_pk, event_id, event_type, status, created_at)
       values ($1, $2, $3, gen_random_uuid(), $4, $5, now() - $6::int * interval '1 day')`,
      [tenantId, endpointId, event!.id, type, status, days],
    )
  return Number(event!.id)
}
const left = async (id: number) => {
  const [row] = await database.sql<{ event: boolean; delivery: boolean }>(
    `select exists (select from mdm.aa_outbox_event where id = $1) as event, exists (select from mdm.aa_webhook_delivery where event_pk = $1) as delivery`,
    [id],
  )
  return row!
}

test('events go after a week unless somebody waits for them, deliveries after a month, what was missed after three', async () => {
  const at = await endpoint()
  const cases = [
    [await delivered(null, 6), { event: true, delivery: false }],
    [await delivered(null, 8), { event: false, delivery: false }],
    [await delivered(at, 8), { event: false, delivery: true }],
    [await delivered(at, 31), { event: false, delivery: false }],
    [await delivered(at, 31, 'cancelled'), { event: false, delivery: false }],
    [await delivered(at, 31, 'dead'), { event: true, delivery: true }],
    [await delivered(at, 89, 'held'), { event: true, delivery: true }],
    [await delivered(at, 91, 'dead'), { event: false, delivery: false }],
    [await delivered(at, 91, 'held'), { event: false, delivery: false }],
  ] as const
  await clean()
  for (const [id, expected] of cases) expect(await left(id), String(id)).toEqual(expected)
})

test('what is pending stays, however old', async () => {
  const at = await endpoint(true)
  await database.sql(`update mdm.aa_webhook_subscription set status = 'paused' where id = $1`, [at])
  const id = await delivered(at, 400, 'pending')
  await clean()
  expect(await left(id)).toEqual({ event: true, delivery: true })
})

test('what lost its job gets another one, once', async () => {
  const open = () =>
    database.sql<{ phase: string; jobs: number }>(
      `select payload ->> 'phase' as phase, count(*)::int as jobs from mdm.aa_job where tenant_id = $1 and status = 'pending' group by 1 order by 1`,
      [tenantId],
    )
  const [plain, ordered] = [await endpoint(), await endpoint(true)]
  await delivered(plain, 1, 'pending')
  await delivered(ordered, 1, 'pending')
  await database.sql(
    `insert into mdm.aa_outbox_event (tenant_id, event_type, payload, occurred_at) values ($1, 'a.b', '{}', now() - interval '2 minutes')`,
    [tenantId],
  )
  await database.sql(`delete from mdm.aa_job where tenant_id = $1`, [tenantId])
  expect(await open()).toEqual([])
  expect(await clean()).toMatchObject({ outboxMended: 3 })
  expect(await open()).toEqual([
    { phase: 'deliver', jobs: 2 },
    { phase: 'fanout', jobs: 1 },
  ])
  expect(await clean()).toMatchObject({ outboxMended: 0 })
  // Done by hand, or by who lost the delivery's own end: its job carries it no more.
  await database.sql(`update mdm.aa_job set status = 'done' where tenant_id = $1 and payload ->> 'phase' = 'deliver'`, [
    tenantId,
  ])
  expect(await clean()).toMatchObject({ outboxMended: 2 })
  expect(await open()).toContainEqual({ phase: 'deliver', jobs: 2 })
})
