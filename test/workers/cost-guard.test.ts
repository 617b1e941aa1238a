import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { claimFair } from '../../src/sql/claim-fair.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { defineKind } from '../../src/workers/define-kind.ts'
import { claimParams, drawLease, noTenant, registerTestKinds, testWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine } from './support.ts'

// What a job costs in things that are counted and not timed, and so are the same on every machine, however busy.

const jobs = 5_000
const tenants = 20
const kinds = Array.from({ length: 9 }, (_, i) => `cost_${i}`)

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, kinds)
  await database.sql(
    `insert into mdm.aa_tenant (tenant_key, name) select 'cost' || i, 'cost' from generate_series(1, $1::int) i`,
    [tenants],
  )
  await database.sql(
    `select from mdm.enqueue_jobs((
       select jsonb_agg(jsonb_build_object('kind', 'cost_' || i % $1::int, 'tenant', 'cost' || 1 + i % $2::int, 'payload', jsonb_build_object('i', i)))
         from generate_series(1, $3::int) i))`,
    [kinds.length, tenants, jobs],
  )
  await database.sql('vacuum analyze mdm.aa_job')
})
afterEach(() => database.drop())

test('a drain costs few round trips, one journal row a job, and leaves nothing behind', async () => {
  const before = await counts()
  const ownKinds = kinds.map((name) =>
    defineKind({ name, payload: z.object({ i: z.int() }), example: { i: 0 }, run: async () => {} }),
  )
  const engine = await startEngine(database, ownKinds, { pools: [] })
  const statements = countStatements(engine.pools)
  await engine.engine.start([{ name: 'default', slots: 4, kinds: null, tenantIds: null, dispatch: 'fair' }])
  await until(async () => (await counts()).done === jobs, 'all jobs are done', 30_000)
  await engine.stop()

  // Each statement is a round trip. Claims bring up to 1,000 (the first four only, while nothing is known of run times), and ends share a
  // statement while one is under way: 15 to 60 in all. One a job each way would be 10,000.
  expect(engine.claims.length).toBeGreaterThan(0)
  expect(statements.claim).toBeLessThan(jobs / 50)
  expect(statements.settle).toBeLessThan(jobs / 50)
  // Rules, stop requests, the promoter's looks: they go by the clock, never by the job.
  expect(statements.other).toBeLessThan(jobs / 50)

  const after = await until(async () => {
    const seen = await counts()
    // A session's statistics are there once it has ended.
    return seen.updates - before.updates >= 2 * jobs && seen
  }, 'the statistics of the sessions are there')
  // The claim writes none: its facts stand on the job and then on this row.
  expect(after.journal - before.journal).toBe(jobs)
  // One to claim, one to end.
  expect(after.updates - before.updates).toBe(2 * jobs)
  expect(after.claims).toBe(0)
  // The claim leaves the queue's indexes and is never HOT; the completion is where its page has room, which fillfactor 70 leaves for half
  // of them: 0.2 to 0.35 of all updates. An index on anything that completion changes makes it 0.
  expect((after.hot - before.hot) / (after.updates - before.updates)).toBeGreaterThan(0.12)
})

test('claim and settle keep their budgets of WAL and buffers', async () => {
  const pools = createPools(database.url)
  try {
    const worker = await testWorker(database.pool)
    const group = 500
    const claim = (limit: number) => {
      const params = claimParams(worker, kinds, limit)
      return [...params, noTenant, limit, Math.ceil(limit / tenants), '{}', noTenant, 0]
    }
    const one = await cost(pools.claim, claimFair.text, claim(1))
    const many = await cost(pools.claim, claimFair.text, claim(group))

    const lease = drawLease()
    const ids = await database.sql<{ id: string }>('select id from mdm.aa_job where lane = 0 order by id limit $1', [group])
    await database.sql(
      `update mdm.aa_job set status = 'running', lease = $2, revision = revision + 1, claim_revision = revision + 1, claimed_at = now()
        where id = any ($1)`,
      [ids.map(({ id }) => id), lease],
    )
    const settle = await cost(pools.settle, finishJobs.text, [
      ids.map(({ id }) => id),
      ids.map(() => lease),
      worker.id,
      [],
    ])

    expect([one.rows, many.rows]).toEqual([1, group])
    // Two hops of the walk, the row, its new version with an entry in the primary key, the claim's row. Measured: 74; a scan of the table has 350.
    expect(one.buffers).toBeLessThan(150)
    // Measured a job: 11 to claim, 10 to settle; each index more adds three.
    expect(many.buffers / group).toBeLessThan(18)
    expect(settle.buffers / group).toBeLessThan(16)
    // Measured a job: 640 bytes to claim (a whole new version, its entries in the indexes, the list in aa_claim) and 540 to settle (the changed
    // middle of the row or a new version, the journal's row and its two entries). An index more on what changes is 100 to 180.
    expect(many.walBytes / group).toBeLessThan(740)
    expect(settle.walBytes / group).toBeLessThan(650)
  } finally {
    await pools.end()
  }
})

interface Plan {
  readonly 'Actual Rows': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly 'WAL Bytes': number
}

/** Runs the statement as the session plans it, and counts what it touched and wrote. The test server writes no full pages. */
async function cost(pool: Pools['claim'], text: string, values: readonly unknown[]) {
  const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    text: `explain (analyze, buffers, wal, format json) ${text}`,
    values: [...values],
  })
  const plan = rows[0]!['QUERY PLAN'][0].Plan
  return {
    rows: plan['Actual Rows'],
    buffers: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    walBytes: plan['WAL Bytes'],
  }
}

function countStatements({ claim, settle, api, commit }: Pools) {
  const count = { claim: 0, settle: 0, other: 0 }
  for (const [of, pool] of [['claim', claim], ['settle', settle], ['other', api], ['other', commit]] as const) {
    const query = pool.query.bind(pool) as (config: object) => Promise<unknown>
    Object.assign(pool, {
      query(config: object) {
        count[of] += 1
        return query(config)
      },
    })
  }
  return count
}

async function counts() {
  const [row] = await database.sql<Record<'done' | 'journal' | 'claims' | 'updates' | 'hot', number>>(
    `select (select count(*)::int from mdm.aa_job where status = 'done') as done, (select count(*)::int from mdm.aa_audit_log) as journal,
            (select count(*)::int from mdm.aa_claim) as claims, n_tup_upd::int as updates, n_tup_hot_upd::int as hot
       from pg_stat_user_tables where relid = 'mdm.aa_job'::regclass`,
  )
  return row!
}
