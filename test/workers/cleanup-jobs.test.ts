import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
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

/** Runs the handler as the executor does, with what it touches. */
async function cleanUp(): Promise<{ deleted: number; droppedMonths: string[] }> {
  const maintenance = createMaintenance({
    pool: database.pool,
    events: createEvents(() => undefined),
    everyMs: 60_000,
    deadAfterMs: 30_000,
    onRecovered: () => undefined,
    keepKinds: [],
  })
  const handler = createCleanupJobs(
    cleanupSteps({ pool: database.pool, maintenance, retentionMs: 30 * day, journalMonths: 13 }),
  )
  const context = { signal: new AbortController().signal, progress: () => Promise.resolve() }
  const answer = await handler(context as unknown as HandlerContext<unknown>)
  return (answer as { result: { deleted: number; droppedMonths: string[] } }).result
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
