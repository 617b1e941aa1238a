import { beforeEach, afterEach, describe, expect, test } from 'vitest'
import { failJobs } from '../../src/sql/fail-jobs.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { heartbeatJobs } from '../../src/sql/heartbeat-jobs.ts'
import { promoteJobs } from '../../src/sql/promote-jobs.ts'
import { recoverDeadInstances } from '../../src/sql/recover-dead-instances.ts'
import { recoverStaleJobs } from '../../src/sql/recover-stale-jobs.ts'
import { removeInstance } from '../../src/sql/remove-instance.ts'
import { replayJob } from '../../src/sql/replay-job.ts'
import { discardJob } from '../../src/sql/discard-job.ts'
import { sweepClaims } from '../../src/sql/sweep-claims.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { claimOf, journalOf, registerTestKinds, storedJob, testTenant, testWorker, type TestWorker } from './support.ts'

let database: TestDatabase
let worker: TestWorker
let tenantId: string

beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['short'], { stale_after_ms: 60_000, max_attempts: 3 })
  await registerTestKinds(database.pool, ['long'], { stale_after_ms: 3_600_000 })
  worker = await testWorker(database.pool)
  tenantId = await testTenant(database)
})
afterEach(() => database.drop())

async function running(kind: string, count = 1) {
  await database.sql(`select mdm.enqueue_job($1, '{}', tenant => $2, notify => false) from generate_series(1, $3)`, [
    kind,
    tenantId,
    count,
  ])
  const claim = await claimOf(database.pool, worker, tenantId, [kind], count)
  return { ...claim, ids: claim.rows.map((row) => row[0]) }
}

const age = (ids: readonly string[], time: string) =>
  database.sql('update mdm.aa_job set claimed_at = claimed_at - $2::interval where id = any ($1)', [ids, time])

const job = async (id: string) => (await storedJob(database, id))!

const promoteAll = async () => {
  await database.sql(`update mdm.aa_job set available_at = now() where lane = 1`)
  await promoteJobs(database.pool, 1_000)
}

test('a dead instance: its jobs come back spread, attempts unchanged; those of a living one stay', async () => {
  const { ids } = await running('long', 50)
  const other = await testWorker(database.pool, 'other')
  await database.sql(`select mdm.enqueue_job('long', '{}', tenant => $1)`, [tenantId])
  const living = await claimOf(database.pool, other, tenantId, ['long'])
  await removeInstance(database.pool, worker.instanceId)

  const recovered = await recoverDeadInstances(database.pool, 30_000, 1_000)
  expect(recovered.map((row) => row.id).toSorted()).toEqual(ids.toSorted())
  expect(recovered.every((row) => row.cause === 'dead_instance' && row.status === 'pending')).toBe(true)
  expect(await job(ids[0]!)).toMatchObject({
    attempts: 1,
    last_error: ' [stale-claim recovered]',
    claimed_by: null,
    claimed_at: null,
    deferred: true,
  })
  expect((await journalOf(database, ids[0]!)).at(-1)).toMatchObject({
    action: 'job_recovered',
    actor_principal_id: 'system:recovery',
    worker: worker.id,
    payload: { cause: 'dead_instance' },
  })
  expect((await job(living.rows[0]![0])).status).toBe('running')

  // F10: the first time within 10 seconds, not all at one moment.
  const [spread] = await database.sql<{ least: number; most: number; different: number }>(
    `select min(date_part('epoch', available_at - now())) as least, max(date_part('epoch', available_at - now())) as most,
            count(distinct available_at)::int as different from mdm.aa_job where id = any ($1)`,
    [ids],
  )
  expect(spread!.most).toBeLessThanOrEqual(10)
  expect(spread!.most - spread!.least).toBeGreaterThan(2)
  expect(spread!.different).toBeGreaterThan(45)
})

test('an instance that is not heard of for the time is dead, and one whose row is missing (F07)', async () => {
  const { ids } = await running('long')
  expect(await recoverDeadInstances(database.pool, 30_000, 10)).toEqual([])
  await database.sql(`update mdm.aa_instance set heartbeat_at = now() - interval '31 seconds'`)
  expect(await recoverDeadInstances(database.pool, 30_000, 10)).toHaveLength(1)
  await promoteAll()
  const again = await claimOf(database.pool, worker, tenantId, ['long'])
  expect(again.rows[0]![0]).toBe(ids[0])
  await database.sql('delete from mdm.aa_worker')
  await database.sql('delete from mdm.aa_instance')
  expect(await recoverDeadInstances(database.pool, 30_000, 10)).toHaveLength(1)
})

test('F05: a new start under the same host and name does not vouch for the claims of the old one', async () => {
  const { ids } = await running('long')
  await database.sql(`update mdm.aa_instance set heartbeat_at = now() - interval '31 seconds' where id = $1`, [
    worker.instanceId,
  ])
  const reborn = await testWorker(database.pool)
  expect(reborn.instanceId).not.toBe(worker.instanceId)
  expect((await recoverDeadInstances(database.pool, 30_000, 10)).map((row) => row.id)).toEqual(ids)
})

test('stale is decided by the time limit of the row’s kind, and a heartbeat extends it', async () => {
  const short = await running('short', 2)
  const long = await running('long')
  await age([...short.ids, ...long.ids], '20 minutes')
  await heartbeatJobs(database.pool, [short.ids[1]!], [short.lease])
  const recovered = await recoverStaleJobs(database.pool, 10)
  expect(recovered.map(({ id, cause }) => ({ id, cause }))).toEqual([{ id: short.ids[0], cause: 'stale' }])
  expect((await job(short.ids[1]!)).status).toBe('running')
  expect((await job(long.ids[0]!)).status).toBe('running')
})

test('F08: a kind that the database does not know is left alone', async () => {
  const { ids } = await running('short')
  await age(ids, '2 days')
  await database.sql(`delete from mdm.aa_job_kind where name = 'short'`)
  expect(await recoverStaleJobs(database.pool, 10)).toEqual([])
  expect((await job(ids[0]!)).status).toBe('running')
})

test('F09: 10,001 rows that must not be recovered in front of one that is stale', async () => {
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision) select $1, 'long', 1 from generate_series(1, 10001)`,
    [tenantId],
  )
  for (let left = 10_001; left > 0; left -= 1_000) await claimOf(database.pool, worker, tenantId, ['long'], 1_000)
  await age(
    (await database.sql<{ id: string }>('select id from mdm.aa_job')).map((row) => row.id),
    '30 minutes',
  )
  const { ids } = await running('short')
  await age(ids, '30 minutes')
  expect((await recoverStaleJobs(database.pool, 1_000)).map((row) => row.id)).toEqual(ids)
})

test('a batch is bounded, and the next one goes on', async () => {
  const { ids } = await running('short', 25)
  await age(ids, '1 hour')
  const first = await recoverStaleJobs(database.pool, 10)
  const second = await recoverStaleJobs(database.pool, 10)
  const third = await recoverStaleJobs(database.pool, 10)
  expect([first.length, second.length, third.length]).toEqual([10, 10, 5])
  expect(new Set([...first, ...second, ...third].map((row) => row.id)).size).toBe(25)
})

test('two sweeps at once recover each job once', async () => {
  const { ids } = await running('short', 40)
  await age(ids, '1 hour')
  const sweeps = await Promise.all(Array.from({ length: 4 }, () => recoverStaleJobs(database.pool, 100)))
  expect(sweeps.flat()).toHaveLength(40)
  for (const id of ids) expect(await journalOf(database, id)).toHaveLength(2)
})

test('a poison job that kills its process starts max_attempts times, then is dead with a reason', async () => {
  let id = ''
  for (let start = 1; start <= 3; start += 1) {
    const claim = start === 1 ? await running('short') : await claimOf(database.pool, worker, tenantId, ['short'])
    id = claim.rows[0]![0]
    expect(claim.rows[0]![4]).toBe(start)
    await removeInstance(database.pool, worker.instanceId)
    const [recovered] = await recoverDeadInstances(database.pool, 30_000, 10)
    expect(recovered!.status).toBe(start < 3 ? 'pending' : 'dlq')
    worker = await testWorker(database.pool)
    await promoteAll()
  }
  expect(await job(id)).toMatchObject({ status: 'dlq', attempts: 3, runs: 3 })
  const journal = await journalOf(database, id)
  expect(journal.map(({ action }) => action)).toEqual(['job_enqueued', 'job_recovered', 'job_recovered', 'job_dlq'])
  expect(journal.at(-1)!.payload).toMatchObject({
    cause: 'dead_instance',
    last_error: expect.stringContaining('recovered'),
  })
  expect(await claimOf(database.pool, worker, tenantId, ['short'])).toMatchObject({ rows: [] })
})

test('R08: last_error stays within 4 KiB over 500 recoveries, and ends with the newest', async () => {
  const { ids } = await running('long')
  await database.sql(`update mdm.aa_job set last_error = repeat('𝄞', 1000), max_attempts = 100 where id = $1`, [ids[0]])
  await removeInstance(database.pool, worker.instanceId)
  const worst: number[] = []
  for (let round = 0; round < 500; round += 1) {
    await recoverDeadInstances(database.pool, 30_000, 10)
    const [row] = await database.sql<{ bytes: number }>(
      'select octet_length(last_error) as bytes from mdm.aa_job where id = $1',
      [ids[0]],
    )
    worst.push(row!.bytes)
    await database.sql(`update mdm.aa_job set available_at = now(), deferred = false, attempts = 1 where id = $1`, [
      ids[0],
    ])
    await claimOf(database.pool, worker, tenantId, ['long'])
  }
  expect(Math.max(...worst)).toBeLessThanOrEqual(4_096)
  expect(String((await job(ids[0]!)).last_error)).toMatch(/ \[stale-claim recovered\]$/)
  expect(await journalOf(database, ids[0]!)).toHaveLength(501)
})

test('a later recovery waits longer, at most ten minutes', async () => {
  const { ids } = await running('long', 40)
  await database.sql('update mdm.aa_job set attempts = 7 where id = any ($1)', [ids.slice(0, 20)])
  await removeInstance(database.pool, worker.instanceId)
  await recoverDeadInstances(database.pool, 30_000, 100)
  const [late] = await database.sql<{ most: number }>(
    `select max(date_part('epoch', available_at - now())) as most from mdm.aa_job where id = any ($1)`,
    [ids.slice(0, 20)],
  )
  expect(late!.most).toBeGreaterThan(60)
  expect(late!.most).toBeLessThanOrEqual(600)
})

describe('F01: finish and recovery of one row at once', () => {
  test('finish first: recovery, which had read the row, changes nothing', async () => {
    const { ids, lease } = await running('short')
    await age(ids, '1 hour')
    const finisher = await database.pool.connect()
    await finisher.query('begin')
    await finishJobs(finisher, ids, [lease], worker.id, [])
    // skip locked: a row that somebody is ending is not waited for.
    expect(await recoverStaleJobs(database.pool, 10)).toEqual([])
    await finisher.query('commit')
    finisher.release()
    expect(await recoverStaleJobs(database.pool, 10)).toEqual([])
    expect((await journalOf(database, ids[0]!)).map(({ action }) => action)).toEqual(['job_enqueued', 'job_done'])
  })

  test.each(['commit', 'rollback'] as const)(
    'recovery first, then %s: finish waits for it and obeys',
    async (ending) => {
      const { ids, lease } = await running('short')
      await age(ids, '1 hour')
      const recoverer = await database.pool.connect()
      await recoverer.query('begin')
      expect(await recoverStaleJobs(recoverer, 10)).toHaveLength(1)
      const finishing = finishJobs(database.pool, ids, [lease], worker.id, [])
      await until(
        async () =>
          (
            await database.sql(
              `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
            )
          ).length > 0,
        'the finish waits for the row',
      )
      await recoverer.query(ending)
      recoverer.release()
      expect(await finishing).toEqual(ending === 'commit' ? [{ id: ids[0] }] : [])
      expect((await job(ids[0]!)).status).toBe(ending === 'commit' ? 'pending' : 'done')
      expect(await journalOf(database, ids[0]!)).toHaveLength(2)
    },
  )

  test('finish, fail, recover, replay and discard of one job at once: one of them happens', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { ids, lease } = await running('short')
      const id = ids[0]!
      await age(ids, '1 hour')
      const admin = [id, null, null, 'user:ada', null, 'r'] as const
      await Promise.all([
        finishJobs(database.pool, ids, [lease], worker.id, []),
        failJobs(database.pool, ids, [lease], worker.id, [], [0], [true], ['E'], ['E'], [null], ['f'], [null]),
        recoverStaleJobs(database.pool, 10),
        replayJob(database.pool, ...admin, null, null, null),
        discardJob(database.pool, ...admin),
      ])
      // Whatever the order: each change one row, numbered without a gap, the first of them out of running.
      const journal = await journalOf(database, id)
      expect(journal.map(({ revision }) => revision)).toEqual([1, ...journal.slice(1).map((_, index) => index + 3)])
      expect(journal[1]!.action).toMatch(/^job_(done|dlq|recovered)$/)
      await database.sql('delete from mdm.aa_job where id = $1', [id])
    }
  })
})

test('F02: the first run’s late end after recovery and a second claim changes nothing', async () => {
  const first = await running('short')
  await age(first.ids, '1 hour')
  await recoverStaleJobs(database.pool, 10)
  await promoteAll()
  const second = await claimOf(database.pool, worker, tenantId, ['short'])
  expect(second.rows[0]![0]).toBe(first.ids[0])
  expect(await finishJobs(database.pool, first.ids, [first.lease], worker.id, [first.claimId])).toEqual([
    { id: first.ids[0] },
  ])
  expect(await job(first.ids[0]!)).toMatchObject({ status: 'running', revision: 4, lease: second.lease })
  expect(await finishJobs(database.pool, first.ids, [second.lease], worker.id, [second.claimId])).toEqual([])
  expect(await job(first.ids[0]!)).toMatchObject({ status: 'done', revision: 5 })
})

test('a claim’s list that keeps jobs which run elsewhere by now takes nobody’s work', async () => {
  const first = await running('long')
  await removeInstance(database.pool, worker.instanceId)
  await recoverDeadInstances(database.pool, 30_000, 10)
  await promoteAll()
  const living = await testWorker(database.pool, 'living')
  const second = await claimOf(database.pool, living, tenantId, ['long'])
  expect(second.rows[0]![0]).toBe(first.ids[0])
  expect(await recoverDeadInstances(database.pool, 30_000, 10)).toEqual([])
  await sweepClaims(database.pool, 0)
  expect(await database.sql('select id from mdm.aa_claim')).toEqual([{ id: second.claimId }])
})
