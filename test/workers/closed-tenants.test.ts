import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { journalOf, registerTestKinds } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['plain', 'followed'])
})
afterAll(() => database.drop())

test('maintenance stops what a closing left behind, and nothing else', async () => {
  const tenant = async (key: string) =>
    (
      await database.sql<{ id: string }>('insert into mdm.aa_tenant (tenant_key, name) values ($1, $1) returning id', [
        key,
      ])
    )[0]!.id
  const [closing, open] = [await tenant('closing'), await tenant('open')]
  const enqueue = async (kind: string, key: string, seconds: number) => {
    const [row] = await database.sql<{ job_id: string }>(
      `select job_id from mdm.enqueue_job($1, '{}', tenant => $2, available_at => now() + $3 * interval '1 second')`,
      [kind, key, seconds],
    )
    return row!.job_id
  }
  const due = await enqueue('plain', 'closing', 0)
  const later = await enqueue('plain', 'closing', 3_600)
  const followed = await enqueue('followed', 'closing', 0)
  const elsewhere = await enqueue('plain', 'open', 0)
  await database.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [closing])
  let told = 0
  const maintenance = createMaintenance({
    pool: database.pool,
    events: createEvents((error) => {
      throw error
    }),
    everyMs: 60_000,
    deadAfterMs: 30_000,
    onRecovered: () => (told += 1),
    followUps: new Map([['followed', () => Promise.resolve()]]),
  })
  await maintenance.runOnce()
  const rows = await database.sql(
    'select id, tenant_id, status::text, stop_cause, stop_requested_by from mdm.aa_job order by id',
  )
  expect(rows).toEqual([
    { id: due, tenant_id: closing, status: 'failed', stop_cause: 'stopped', stop_requested_by: 'system:maintenance' },
    { id: later, tenant_id: closing, status: 'failed', stop_cause: 'stopped', stop_requested_by: 'system:maintenance' },
    { id: followed, tenant_id: closing, status: 'pending', stop_cause: null, stop_requested_by: null },
    { id: elsewhere, tenant_id: open, status: 'pending', stop_cause: null, stop_requested_by: null },
  ])
  expect((await journalOf(database, due)).map(({ action }) => action)).toEqual(['job_enqueued', 'job_stop'])
  expect(told).toBe(1)
  await maintenance.runOnce()
  expect(told).toBe(1)
})
