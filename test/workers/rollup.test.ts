import type { PoolClient } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import { rollUpJournal } from '../../src/sql/roll-up-journal.ts'
import { createRollup } from '../../src/workers/rollup.ts'
import { createCleanupJobs } from '../../src/workers/handlers/cleanup-jobs.ts'
import { cleanupSteps } from '../../src/workers/handlers/cleanup-steps.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { seededRandom } from '../support/random.ts'

let database: TestDatabase
let tenantId: string
const open: PoolClient[] = []

beforeEach(async () => {
  database = await testDatabase()
  tenantId = (await database.sql<{ id: string }>("select id from mdm.aa_tenant where tenant_key = 'default'"))[0]!.id
})
afterEach(async () => {
  for (const client of open.splice(0)) client.release(true)
  await database.drop()
})

/** Rows of the journal as the moves write them. */
const journal = (count: number, given: Record<string, unknown> = {}, db: Pick<PoolClient, 'query'> = database.pool) => {
  const row = { action: 'job_done', job_kind: 'echo', tenant_id: tenantId, wait_ms: 10, run_ms: 100, ...given }
  return db.query({
    text: `insert into mdm.aa_audit_log (${Object.keys(row).join(', ')})
      select ${Object.keys(row)
        .map((name, index) => `$${index + 2}${name === 'action' ? '::mdm.audit_action' : ''}`)
        .join(', ')} from generate_series(1, $1::int)`,
    values: [count, ...Object.values(row)],
  })
}

const begin = async (): Promise<PoolClient> => {
  const client = await database.pool.connect()
  open.push(client)
  await client.query('begin')
  return client
}
const end = async (client: PoolClient, how: 'commit' | 'rollback'): Promise<void> => {
  await client.query(how)
  open.splice(open.indexOf(client), 1)
  client.release()
}

const rollup = (batch?: number, atMostMs?: number) =>
  createRollup({
    pool: database.pool,
    events: createEvents(() => {}),
    everyMs: 1_000,
    ...(batch && { batch }),
    ...(atMostMs !== undefined && { atMostMs }),
  })
const total = async (column: string): Promise<number> => {
  const [row] = await database.sql<{ sum: number }>(
    `select coalesce(sum(${column}), 0)::int as sum from mdm.aa_stat_minute`,
  )
  return row!.sum
}
const cursor = async () =>
  (await database.sql<{ high: number; gaps: string }>('select high::int, gaps::text from mdm.aa_stat_cursor'))[0]!
const newestId = async () =>
  (await database.sql<{ id: number }>('select max(id)::int as id from mdm.aa_audit_log'))[0]!.id

test('each outcome is counted as what it is, and waits and runs by their length', async () => {
  await journal(3, { action: 'job_enqueued', wait_ms: null, run_ms: null })
  await journal(5)
  await journal(2, { action: 'job_retry', payload: { last_error: 'x' } })
  await journal(1, { action: 'job_dlq', payload: { last_error: 'x' } })
  await journal(1, {
    action: 'job_dlq',
    actor_principal_id: 'system:recovery',
    run_ms: 900_000,
    payload: { cause: 'stale' },
  })
  await journal(1, { action: 'job_recovered', run_ms: 900_000 })
  await journal(4, { action: 'job_released', payload: { cause: 'rate_limited', unstarted: true } })
  await journal(1, { action: 'job_released', payload: { cause: 'snoozed' } })
  await journal(1, { action: 'job_stop', payload: { from: 'running' } })
  await journal(1, { action: 'job_stop', wait_ms: null, run_ms: null, payload: { from: 'pending' } })
  await journal(1, { action: 'job_stop_requested' })
  await journal(1, { action: 'queue_pause', job_kind: null, wait_ms: null, run_ms: null })
  expect(await rollup().runOnce()).toBe(22)
  const rows = await database.sql('select * from mdm.aa_stat_minute')
  expect(rows).toHaveLength(1)
  expect(rows[0]).toMatchObject({
    tenant_id: tenantId,
    job_kind: 'echo',
    enqueued: 3,
    done: 5,
    errors: 4,
    dead: 2,
    stopped: 1,
    recovered: 1,
    released: 5,
    throttled: 4,
    // 5 done, 2 retries, 2 deaths, 1 recovered, 1 snoozed, 1 stopped; who was taken back did not run to an end.
    wait_ms: '120',
    run_ms: '1000',
  })
  // 8 to 12 ms; 96 to 128 ms.
  expect(rows[0]!['wait_hist']).toEqual([0, 0, 0, 0, 0, 0, 12])
  expect(rows[0]!['run_hist'].at(-1)).toBe(10)
})

test('nothing twice, nothing missed: late commits, rollbacks, two instances at once, small batches', async () => {
  const random = seededRandom()
  const instances = [rollup(7), rollup(50)]
  let committed = 0
  const waiting: { client: PoolClient; rows: number }[] = []
  for (let round = 0; round < 60; round++) {
    const rows = 1 + random.below(20)
    if (random.below(3) === 0 && waiting.length < 5) {
      const client = await begin()
      await journal(rows, {}, client)
      waiting.push({ client, rows })
    } else {
      await journal(rows)
      committed += rows
    }
    if (random.below(3) === 0 && waiting.length > 0) {
      const [late] = waiting.splice(random.below(waiting.length), 1)
      const how = random.below(4) === 0 ? 'rollback' : 'commit'
      await end(late!.client, how)
      if (how === 'commit') committed += late!.rows
    }
    if (random.below(2) === 0) await Promise.all(instances.map((each) => each.runOnce()))
    // Without the lock, too, a row is counted once.
    if (random.below(4) === 0) await Promise.all([1, 2, 3].map(() => rollUpJournal(database.pool, 5)))
  }
  for (const { client, rows } of waiting) {
    await end(client, 'commit')
    committed += rows
  }
  for (const each of instances) await each.runOnce()
  expect(await total('done'), `seed ${random.seed}`).toBe(committed)
  const [summed] = await database.sql<{ runs: number }>(
    'select sum(n)::int as runs from mdm.aa_stat_minute, unnest(run_hist) n',
  )
  expect(summed!.runs).toBe(committed)
})

test('a gap is kept as long as somebody may fill it, then given up', async () => {
  const late = await begin()
  await journal(5, {}, late)
  const lost = await begin()
  await journal(3, {}, lost)
  await journal(10)
  const one = rollup()
  await one.runOnce()
  await end(lost, 'rollback')
  await one.runOnce()
  expect(await total('done')).toBe(10)
  expect((await cursor()).gaps).toBe('{[1,9)}')
  await end(late, 'commit')
  await one.runOnce()
  expect(await total('done')).toBe(15)
  expect(await cursor()).toEqual({ high: await newestId(), gaps: '{}' })
})

test('who begins anew goes on where the other ended', async () => {
  await journal(100)
  const late = await begin()
  await journal(5, {}, late)
  await journal(40)
  expect(await rollup(30, 0).runOnce()).toBe(30)
  expect(await total('done')).toBe(30)
  const next = rollup(30)
  await next.runOnce()
  expect(await total('done')).toBe(140)
  await end(late, 'commit')
  await rollup().runOnce()
  expect(await total('done')).toBe(145)
})

test('what fails leaves nothing half counted', async () => {
  await journal(10)
  await database.sql(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await database.sql('create trigger fail before update on mdm.aa_stat_cursor for each row execute function fail()')
  await expect(rollup().runOnce()).rejects.toThrow('no')
  expect(await total('done')).toBe(0)
  await database.sql('drop trigger fail on mdm.aa_stat_cursor')
  await rollup().runOnce()
  expect(await total('done')).toBe(10)
})

test('the queue is sampled once a minute, whoever does it', async () => {
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision) select $1, 'echo', 1 from generate_series(1, 3)`,
    [tenantId],
  )
  await Promise.all([rollup().runOnce(), rollup().runOnce()])
  await rollup().runOnce()
  const [{ minutes, pending } = { minutes: 0, pending: 0 }] = await database.sql<{ minutes: number; pending: number }>(
    'select (select count(*)::int from mdm.aa_stat_sample) as minutes, (select sum(pending)::int from mdm.aa_stat_minute) as pending',
  )
  expect(minutes).toBeGreaterThan(0)
  expect(pending).toBe(3 * minutes)
})

test('cleanup_jobs forgets minutes after 90 days', async () => {
  await database.sql(
    `insert into mdm.aa_stat_minute (tenant_id, job_kind, minute, done)
     select $1, 'echo', date_trunc('minute', now()) - days * interval '1 day', 1 from generate_series(0, 120) days`,
    [tenantId],
  )
  await database.sql(
    `insert into mdm.aa_stat_sample select now() - days * interval '1 day' from generate_series(80, 100) days`,
  )
  const maintenance = { runOnce: async () => [], recoverLost: async () => [] }
  const cleanup = createCleanupJobs(
    cleanupSteps({ pool: database.pool, maintenance, retentionMs: 1e10, journalMonths: 13 }),
  )
  await cleanup({ signal: new AbortController().signal, progress: async () => {} } as never)
  expect(await total('done')).toBe(90)
  expect(await database.sql("select from mdm.aa_stat_sample where minute < now() - interval '91 days'")).toEqual([])
})
