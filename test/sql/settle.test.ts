import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../src/db/transaction.ts'
import { dropClaims } from '../../src/sql/drop-claims.ts'
import { failJobs } from '../../src/sql/fail-jobs.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { heartbeatJobs } from '../../src/sql/heartbeat-jobs.ts'
import { releaseJobs } from '../../src/sql/release-jobs.ts'
import { requestStop } from '../../src/sql/request-stop.ts'
import { saveProgress } from '../../src/sql/save-progress.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import {
  claimOf,
  journalOf,
  registerTestKinds,
  storedJob,
  testTenant,
  testWorker,
  type StoredJob,
  type TestWorker,
} from './support.ts'

let database: TestDatabase
let worker: TestWorker
beforeAll(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['settled'])
  worker = await testWorker(database.pool)
})
afterAll(() => database.drop())

/** Some running jobs under one claim. */
async function claimed(count: number) {
  const tenantId = await testTenant(database)
  await database.sql(
    `select mdm.enqueue_job('settled', '{}', tenant => $1, notify => false) from generate_series(1, $2)`,
    [tenantId, count],
  )
  const claim = await claimOf(database.pool, worker, tenantId, ['settled'], count)
  return {
    ...claim,
    tenantId,
    ids: claim.rows.map((row) => row[0]),
    leases: claim.rows.map(() => claim.lease),
  }
}

const claimRows = async (claimId: string) =>
  (await database.sql('select from mdm.aa_claim where id = $1', [claimId])).length

const job = async (id: string): Promise<StoredJob> => (await storedJob(database, id))!

interface Failed {
  readonly id: string
  readonly lease: string
  readonly delayMs?: number
  readonly permanent?: boolean
  readonly error?: string
}

const fail = (
  ends: readonly Failed[],
  endedClaims: readonly string[] = [],
  db: Parameters<typeof failJobs>[0] = database.pool,
) =>
  failJobs(
    db,
    ends.map(({ id }) => id),
    ends.map(({ lease }) => lease),
    worker.id,
    endedClaims,
    ends.map(({ delayMs = 60_000 }) => delayMs),
    ends.map(({ permanent = false }) => permanent),
    ends.map(({ error = 'Error: broken' }) => error),
    ends.map(() => 'Error'),
    ends.map(() => 'at here'),
    ends.map(() => 'fingerprint'),
    ends.map(() => '["info: tried"]'),
  )

test('a group of failures: each job has its own outcome', async () => {
  const { ids, lease } = await claimed(5)
  const [transient, permanent, usedUp, stopped, lost] = ids as [string, string, string, string, string]
  await database.sql('update mdm.aa_job set attempts = max_attempts where id = $1', [usedUp])
  await requestStop(database.pool, stopped, null, null, 'user:ada', 'enough', 'r1')
  const settled = await fail([
    { id: transient, lease },
    { id: permanent, lease, permanent: true },
    { id: usedUp, lease },
    { id: stopped, lease },
    { id: lost, lease: '1' },
  ])
  expect(Object.fromEntries(settled.map(({ id, status }) => [id, status]))).toEqual({
    [transient]: 'pending',
    [permanent]: 'dlq',
    [usedUp]: 'dlq',
    [stopped]: 'failed',
  })
  expect(await job(transient)).toMatchObject({
    status: 'pending',
    deferred: true,
    attempts: 1,
    claimed_by: null,
    claimed_at: null,
    last_error: 'Error: broken',
    error_fingerprint: 'fingerprint',
  })
  expect(await job(stopped)).toMatchObject({ status: 'failed', last_error: 'enough', stop_requested_by: 'user:ada' })
  expect(await job(lost)).toMatchObject({ status: 'running', revision: 2 })
  const last = async (id: string) => (await journalOf(database, id)).at(-1)!
  expect(await last(permanent)).toMatchObject({
    action: 'job_dlq',
    worker: worker.id,
    actor_principal_id: null,
    payload: { last_error: 'Error: broken', detail: 'at here', log: ['info: tried'] },
  })
  // The claim's revision stands in the row only where a request came between.
  expect(await last(permanent)).toMatchObject({ revision: 3, claim_revision: null })
  expect(await last(stopped)).toMatchObject({ action: 'job_stop', revision: 4, claim_revision: 2, reason: 'enough' })
})

test('a delay that is no number is none, and one without end is bounded', async () => {
  const { ids, lease } = await claimed(4)
  const [notANumber, endless, negative, plain] = ids as [string, string, string, string]
  await fail([
    { id: notANumber, lease, delayMs: NaN },
    { id: endless, lease, delayMs: Infinity },
    { id: negative, lease, delayMs: -5_000 },
    { id: plain, lease, delayMs: 60_000 },
  ])
  const waits = await database.sql<{ id: string; days: number; deferred: boolean }>(
    `select id, round(date_part('epoch', available_at - now()) / 86400)::int as days, deferred from mdm.aa_job where id = any ($1)`,
    [ids],
  )
  expect(new Map(waits.map(({ id, days, deferred }) => [id, { days, deferred }]))).toEqual(
    new Map([
      [notANumber, { days: 0, deferred: false }],
      [endless, { days: 366, deferred: true }],
      [negative, { days: 0, deferred: false }],
      [plain, { days: 0, deferred: true }],
    ]),
  )
})

test('success: a group answers only what was lost, and leaves no error behind', async () => {
  const { ids, leases, lease } = await claimed(3)
  await fail([{ id: ids[0]!, lease, delayMs: 0 }])
  const again = await claimOf(database.pool, worker, (await job(ids[0]!)).tenant_id as string, ['settled'])
  const lost = await finishJobs(database.pool, [...ids], [again.lease, leases[1]!, '7'], worker.id, [])
  expect(lost.map(({ id }) => id)).toEqual([ids[2]])
  expect(await job(ids[0]!)).toMatchObject({
    status: 'done',
    last_error: null,
    attempts: 2,
    runs: 2,
    claimed_by: worker.name,
  })
  expect((await journalOf(database, ids[0]!)).at(-1)).toMatchObject({
    action: 'job_done',
    attempt: 2,
    worker: worker.id,
  })
})

test('one lease for all of a claim fences each of its jobs', async () => {
  const { ids, lease } = await claimed(3)
  await fail([{ id: ids[0]!, lease, delayMs: 0 }])
  await claimOf(database.pool, worker, (await job(ids[0]!)).tenant_id as string, ['settled'])
  const lost = await finishJobs(database.pool, ids, [lease], worker.id, [])
  expect(lost.map(({ id }) => id)).toEqual([ids[0]])
  expect(await Promise.all(ids.map(async (id) => (await job(id)).status))).toEqual(['running', 'done', 'done'])
  expect(await finishJobs(database.pool, ids.slice(1), [lease], worker.id, [])).toHaveLength(2)
})

test('F02: a fence that was null in the group moves nothing', async () => {
  const { ids } = await claimed(2)
  const lost = await finishJobs(database.pool, ids, [null, null] as unknown as string[], worker.id, [])
  expect(lost).toHaveLength(2)
  expect(await job(ids[0]!)).toMatchObject({ status: 'running', revision: 2 })
})

test('the claim row goes with the end of its last job, not before', async () => {
  const { ids, leases, claimId } = await claimed(3)
  await finishJobs(database.pool, ids.slice(0, 2), leases.slice(0, 2), worker.id, [])
  expect(await claimRows(claimId)).toBe(1)
  await fail([{ id: ids[2]!, lease: leases[2]! }], [claimId])
  expect(await claimRows(claimId)).toBe(0)
})

test('a group out of which a row fell leaves the claim row; it is dropped once none of its jobs is held', async () => {
  const { ids, leases, lease, claimId } = await claimed(2)
  await finishJobs(database.pool, ids, [lease, '9'], worker.id, [claimId])
  expect(await claimRows(claimId)).toBe(1)
  await dropClaims(database.pool, [claimId])
  expect(await claimRows(claimId)).toBe(1)
  await finishJobs(database.pool, [ids[1]!], [leases[1]!], worker.id, [])
  await dropClaims(database.pool, [claimId])
  expect(await claimRows(claimId)).toBe(0)
})

test('a released job is as it was before its claim, but for the order of its changes', async () => {
  const { ids, leases, claimId } = await claimed(2)
  const [unstarted, started] = ids as [string, string]
  await releaseJobs(database.pool, ids, leases, worker.id, [claimId], [0, 5_000], [true, false], ['surplus', 'snoozed'])
  expect(await job(unstarted)).toMatchObject({
    status: 'pending',
    attempts: 0,
    runs: 0,
    deferred: false,
    claimed_by: null,
  })
  expect(await job(started)).toMatchObject({ status: 'pending', attempts: 0, runs: 1, deferred: true })
  expect((await journalOf(database, unstarted)).at(-1)).toMatchObject({
    action: 'job_released',
    attempt: 1,
    payload: { cause: 'surplus', unstarted: true },
  })
  expect((await journalOf(database, started)).at(-1)).toMatchObject({ payload: { cause: 'snoozed' } })
  expect(await claimRows(claimId)).toBe(0)
})

test('F04: a timestamp that went through JavaScript is no fence: the lease is, to its last bit', async () => {
  const { ids, lease } = await claimed(1)
  const near = (BigInt(lease) ^ 1n).toString()
  expect(await finishJobs(database.pool, ids, [near], worker.id, [])).toHaveLength(1)
  // An odd lease above 2^53 is another once it was a number of JavaScript.
  const odd = (2n ** 62n + 1n).toString()
  await database.sql('update mdm.aa_job set lease = $2 where id = $1', [ids[0], odd])
  expect(await finishJobs(database.pool, ids, [BigInt(Number(odd)).toString()], worker.id, [])).toHaveLength(1)
  await database.sql('update mdm.aa_job set lease = $2 where id = $1', [ids[0], lease])
  expect(await finishJobs(database.pool, ids, [lease], worker.id, [])).toHaveLength(0)
  expect((await job(ids[0]!)).status).toBe('done')
})

test('F02: follow-up writes of a run that lost its claim roll back', async () => {
  const { ids, lease } = await claimed(1)
  await database.sql('create table if not exists followed (job_id uuid)')
  await releaseJobs(database.pool, ids, [lease], worker.id, [], [0], [false], ['shutdown'])
  const late = inTransaction(database.pool, async (tx) => {
    await tx.query('insert into followed values ($1)', [ids[0]])
    const lost = await finishJobs(tx, ids, [lease], worker.id, [])
    if (lost.length > 0) throw new Error('lost')
  })
  await expect(late).rejects.toThrow('lost')
  expect(await database.sql('select from followed')).toEqual([])
  expect(await job(ids[0]!)).toMatchObject({ status: 'pending', revision: 3 })
})

test('heartbeat and progress are fenced, whether a stop was asked for or not', async () => {
  const { ids, leases } = await claimed(2)
  await requestStop(database.pool, ids[1]!, null, null, 'user:ada', null, 'r1')
  const held = await heartbeatJobs(database.pool, ids, leases)
  expect(held.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  expect(await heartbeatJobs(database.pool, ids, ['1', '2'])).toEqual([])
  expect(await saveProgress(database.pool, ids[0]!, leases[0]!, '{"done":1}')).toEqual([{ stopRequested: false }])
  expect(await saveProgress(database.pool, ids[0]!, '1', '{"done":9}')).toEqual([])
  expect(await job(ids[0]!)).toMatchObject({ revision: 2, progress: { done: 1 } })
  expect(await journalOf(database, ids[0]!)).toHaveLength(1)
})

test('times in the journal are whole, never negative and never beyond their type', async () => {
  const { ids, leases } = await claimed(2)
  await database.sql(`update mdm.aa_job set claimed_at = now() + interval '1 hour' where id = $1`, [ids[0]])
  await database.sql(`update mdm.aa_job set claimed_at = now() - interval '100 years' where id = $1`, [ids[1]])
  await finishJobs(database.pool, ids, leases, worker.id, [])
  expect((await journalOf(database, ids[0]!)).at(-1)).toMatchObject({ run_ms: 0 })
  expect((await journalOf(database, ids[1]!)).at(-1)).toMatchObject({ run_ms: 2_147_483_647, wait_ms: 0 })
})
