import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEvents, type Event } from '../../src/jobs/event.ts'
import { deleteDoneJobs } from '../../src/sql/delete-done-jobs.ts'
import { alongKey } from '../../src/workers/handlers/along-key.ts'
import { createCleanupJobs } from '../../src/workers/handlers/cleanup-jobs.ts'
import { cleanupSteps } from '../../src/workers/handlers/cleanup-steps.ts'
import type { HandlerContext } from '../../src/workers/handler.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { registerTestKinds } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const day = 24 * 60 * 60 * 1_000

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['brief', 'ordinary'])
  await database.sql(`update mdm.aa_job_kind set retention_ms = case name when 'brief' then 3600000 end`)
})
afterAll(() => database.drop())
beforeEach(() => database.sql('delete from mdm.aa_job'))

/** Runs the handler as the executor does, with what it touches: that of a process that has just started. */
async function cleanUp(): Promise<{ deleted: number; droppedMonths: string[] }> {
  return createCleaning()()
}

/** One process' cleaning, tick after tick. */
function createCleaning(pool = database.pool, events = createEvents(() => undefined)) {
  const maintenance = createMaintenance({
    pool: database.pool,
    events,
    everyMs: 60_000,
    deadAfterMs: 30_000,
    onRecovered: () => undefined,
  })
  const handler = createCleanupJobs(cleanupSteps({ pool, maintenance, retentionMs: 30 * day, journalMonths: 13 }))
  const context = { signal: new AbortController().signal, progress: () => Promise.resolve() }
  return async () => {
    const answer = await handler(context as unknown as HandlerContext<unknown>)
    return (answer as { result: { deleted: number; droppedMonths: string[] } }).result
  }
}

/** Jobs as they stand so many hours after their end. */
const ended = (kind: string, status: string, hours: number, count: number) =>
  database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, status, revision, created_at, completed_at, dead_at)
     select id, $1, $2::mdm.job_status, 3, now() - $3 * interval '1 hour', now() - $3 * interval '1 hour',
            case when $2 <> 'done' then now() - $3 * interval '1 hour' end
       from mdm.aa_tenant, generate_series(1, $4::int) where tenant_key = 'default'`,
    [kind, status, hours, count],
  )
/** Done jobs that were born and ended so many hours ago. */
const bornAndEnded = (kind: string, bornHours: number, endedHours: number, count: number) =>
  database.sql(
    `insert into mdm.aa_job (id, tenant_id, job_kind, status, revision, created_at, completed_at)
     select (lpad(to_hex((extract(epoch from now() - $2 * interval '1 hour') * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(i), 12, '0'))::uuid,
            t.id, $1, 'done', 3, now() - $2 * interval '1 hour', now() - $3 * interval '1 hour'
       from mdm.aa_tenant t, generate_series(1, $4::int) i where tenant_key = 'default'`,
    [kind, bornHours, endedHours, count],
  )
const firstId = '00000000-0000-0000-0000-000000000000'
const left = async () =>
  Object.fromEntries(
    (
      await database.sql<{ kind: string; count: number }>(
        `select job_kind || ' ' || status as kind, count(*)::int from mdm.aa_job group by 1`,
      )
    ).map(({ kind, count }) => [kind, count]),
  )

describe('P09: retention', () => {
  test('deletes done jobs of each kind when its time is over, in batches, and nothing else', async () => {
    await ended('brief', 'done', 2, 2_500)
    await ended('brief', 'done', 0.5, 3)
    await ended('brief', 'dlq', 2_000, 4)
    await ended('ordinary', 'failed', 2_000, 5)
    await ended('ordinary', 'done', 24 * 31, 1_500)
    await ended('ordinary', 'done', 24 * 29, 6)
    expect((await cleanUp()).deleted).toBe(4_000)
    expect(await left()).toEqual({ 'brief done': 3, 'brief dlq': 4, 'ordinary failed': 5, 'ordinary done': 6 })
    expect((await cleanUp()).deleted).toBe(0)
  })

  test('a row that somebody holds is left for the next time, and nobody waits for it', async () => {
    await ended('brief', 'done', 2, 3)
    const holder = await database.pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select from mdm.aa_job order by id limit 1 for update')
      expect((await cleanUp()).deleted).toBe(2)
      await holder.query('rollback')
    } finally {
      holder.release()
    }
    expect((await cleanUp()).deleted).toBe(1)
  })

  test('each tick deletes what has come to its time since, and a walk a day what ended long after its birth', async () => {
    const tick = createCleaning()
    await tick()
    await bornAndEnded('ordinary', 24 * 10, 24 * 10, 2_100)
    await bornAndEnded('brief', 1.2, 1.1, 2_500)
    await bornAndEnded('brief', 5, 1.1, 3)
    await bornAndEnded('ordinary', 24 * 30 + 0.2, 24 * 30 + 0.1, 4)
    expect((await tick()).deleted).toBe(2_504)
    expect(await left()).toEqual({ 'brief done': 3, 'ordinary done': 2_100 })
    expect((await cleanUp()).deleted).toBe(3)
  })

  test('jobs that are kept for longer, or are young, are not read through again at each tick', async () => {
    await bornAndEnded('ordinary', 24 * 10, 24 * 10, 10_000)
    await bornAndEnded('ordinary', 0.1, 0.1, 10_000)
    const counted = Object.create(database.pool) as typeof database.pool
    let batches = 0
    const query = database.pool.query.bind(database.pool) as (config: { name?: string }) => Promise<unknown>
    Object.assign(counted, {
      query(config: { name?: string }) {
        if (config.name === deleteDoneJobs.statementName) batches += 1
        return query(config)
      },
    })
    const tick = createCleaning(counted)
    const batchesOfTick = async () => {
      batches = 0
      await tick()
      return batches
    }
    // All of them once, by two thousand; then a batch for each of the times (these two kinds have different ones).
    expect(await batchesOfTick()).toBeGreaterThan(10)
    expect(await batchesOfTick()).toBe(2)
    expect(await batchesOfTick()).toBe(2)
  })

  test('a batch looks at so many jobs at most, and a stretch ends with its time', async () => {
    await bornAndEnded('brief', 2, 2, 30)
    await bornAndEnded('brief', 0.5, 0.5, 30)
    const hour = 60 * 60 * 1_000
    const remove = async (youngerThan: number | null, olderThan: number | null) => {
      const [row] = await deleteDoneJobs(database.pool, 30 * day, firstId, 10, youngerThan, olderThan)
      return row!
    }
    const first = await remove(null, null)
    expect([first.deleted, first.lastId]).toEqual([10, expect.any(String)])
    expect((await remove(3 * hour, hour)).lastId).not.toBeNull()
    expect(await remove(1.5 * hour, hour)).toEqual({ deleted: 0, lastId: null })
    expect((await remove(1.5 * hour, null)).lastId).not.toBeNull()
  })

  test('the server is left to others for twice as long as a batch took, and no longer than to the signal', async () => {
    const ending = new AbortController()
    let at = performance.now()
    const rests: number[] = []
    const remove = async () => {
      rests.push(performance.now() - at)
      if (rests.length === 3) setTimeout(() => ending.abort(), 1_050)
      await database.sql(`select pg_sleep($1::float8)`, [rests.length === 3 ? 1 : 0.05])
      at = performance.now()
      return [{ deleted: 2, lastId: 'next' }]
    }
    expect(await alongKey('first', ending.signal, remove)).toEqual({ deleted: 6, place: 'next' })
    // The rest would be of two seconds.
    expect(performance.now() - at).toBeLessThan(1_800)
    for (const rest of rests.slice(1)) expect(rest).toBeGreaterThan(95)
  })

  test('the history of a job does not keep it, nor goes with it', async () => {
    await ended('brief', 'done', 2, 1)
    const [{ id } = { id: '' }] = await database.sql<{ id: string }>('select id from mdm.aa_job')
    await database.sql(
      `insert into mdm.aa_audit_log (job_id, tenant_id, action, revision) select id, tenant_id, 'job_done', 3 from mdm.aa_job`,
    )
    expect((await cleanUp()).deleted).toBe(1)
    expect(await database.sql('select from mdm.aa_audit_log where job_id = $1', [id])).toHaveLength(1)
  })
})

describe('the journal in months', () => {
  test('a month that is over the time is dropped, unless a job of it lives', async () => {
    await database.sql(
      `create table mdm_journal.aa_audit_log_2020_05 partition of mdm.aa_audit_log for values from ('2020-05-01Z') to ('2020-06-01Z')`,
    )
    await database.sql(
      `insert into mdm.aa_job (tenant_id, job_kind, status, revision, created_at, completed_at, dead_at)
       select id, 'ordinary', 'dlq', 3, '2020-05-10Z', '2020-05-11Z', '2020-05-11Z' from mdm.aa_tenant where tenant_key = 'default'`,
    )
    expect((await cleanUp()).droppedMonths).toEqual([])
    await database.sql('delete from mdm.aa_job')
    expect((await cleanUp()).droppedMonths).toEqual(['aa_audit_log_2020_05'])
  })
})

test('a stale run whose claim row is missing is taken back, and told like any other', async () => {
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, status, attempts, revision, claim_revision, lease, claimed_at)
     select id, 'ordinary', 'running', 1, 2, 2, 7, now() - interval '1 day' from mdm.aa_tenant where tenant_key = 'default'`,
  )
  await database.sql('delete from mdm.aa_claim')
  const told: Event[] = []
  const events = createEvents(() => undefined)
  events.on((event) => told.push(event))
  expect(await createCleaning(database.pool, events)()).toMatchObject({ recovered: 1 })
  expect(told).toMatchObject([{ type: 'jobs:recovered', jobs: [{ kind: 'ordinary', cause: 'stale' }] }])
  expect(await database.sql('select status::text from mdm.aa_job')).toEqual([{ status: 'pending' }])
})

test('a step that fails stops no other, and the job names it', async () => {
  const ran: string[] = []
  const step = (name: string, error?: string) => ({
    name,
    async run() {
      ran.push(name)
      if (error !== undefined) throw new Error(error)
      return {}
    },
  })
  const handler = createCleanupJobs([step('first', 'no room'), step('second'), step('third', 'no light')])
  const context = { signal: new AbortController().signal, progress: () => Promise.resolve() }
  await expect(handler(context as unknown as HandlerContext<unknown>)).rejects.toThrow(
    'first: no room; third: no light',
  )
  expect(ran).toEqual(['first', 'second', 'third'])
})
