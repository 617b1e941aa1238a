import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { DatabaseUnavailable } from '../../src/jobs/errors.ts'
import { createEnqueuer, type Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import type { EnqueueOrder } from '../../src/resolvers/enqueue-order.ts'
import { enqueueClaimed, type Claimer } from '../../src/sql/enqueue-claimed.ts'
import { readJobs } from '../../src/sql/read-jobs.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { defineKind, type KindDefinition, type OwnKind } from '../../src/workers/define-kind.ts'
import { journalOf, storedJob } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { enqueueOrder } from '../support/enqueue-order.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

let database: TestDatabase
let tenantId: string
const engines: TestEngine[] = []

beforeEach(async () => {
  database = await testDatabase()
  tenantId = (await database.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`))[0]!.id
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((each) => each.stop(0)))
  await database.drop()
})

const anything = z.looseObject({})
const kind = (
  name: string,
  run: KindDefinition<typeof anything>['run'],
  given: Partial<KindDefinition<typeof anything>> = {},
): OwnKind => defineKind({ name, payload: anything, run, ...given })

/** None looks by itself, and none has anything left to look for. */
async function atRest(kinds: readonly OwnKind[], given: Parameters<typeof startEngine>[2] = {}): Promise<TestEngine> {
  const engine = await startEngine(database, kinds, { pollMs: 60_000, ...given })
  engines.push(engine)
  await until(() => engine.claims.length > 0, 'the first look has found nothing')
  return engine
}

const enqueuerOf = ({ pools, wakeup, engine }: TestEngine): Enqueuer =>
  createEnqueuer({ pool: pools.enqueue, wakeup, startAtOnce: engine.startAtOnce })

const order = (name: string, given: Partial<EnqueueOrder> = {}): EnqueueOrder =>
  enqueueOrder({ tenantId, kind: name, payloadText: '{"a":1}', ...given })

async function enqueued(enqueuer: Enqueuer, given: EnqueueOrder) {
  const answer = await enqueuer.enqueue(given)
  if (answer.type !== 'enqueued') throw new Error(answer.message)
  return answer
}

const claimed = (db: Queryable, { worker, instanceId, lease }: Claimer) =>
  enqueueClaimed(db, tenantId, 'noted', '{"a":1}', null, null, null, 'user:ada', 'request', worker, instanceId, lease)

const isDone = (id: string) => async () => (await storedJob(database, id))?.status === 'done'
const claimRows = () =>
  database.sql<{ lease: string; instance_id: string; job_ids: string[] }>('select * from mdm.aa_claim')
const statusOf = async (id: string) => (await storedJob(database, id))!.status

test('a job that comes alone to workers at rest goes in claimed, and is told, kept and journaled as any other', async () => {
  const release = Promise.withResolvers<void>()
  const noted = kind('noted', () => release.promise, { defaults: { priority: 30, maxAttempts: 3 } })
  const engine = await atRest([noted])
  const looks = engine.claims.length
  const given = order('noted', { tags: ['x', 'y'], correlationId: 'c', traceContext: 't', priority: 7 })
  const { jobId, outcome, job } = await enqueued(enqueuerOf(engine), given)
  expect(outcome).toBe('created')
  // What it answers is what a read does.
  expect(job!()).toEqual((await readJobs(database.pool, [jobId], null))[0])
  expect(job!()).toMatchObject({
    status: 'running',
    attempts: 1,
    runs: 1,
    priority: 7,
    maxAttempts: 3,
    tags: ['x', 'y'],
  })
  const { lease } = (await storedJob(database, jobId))!
  expect(await claimRows()).toMatchObject([{ lease, instance_id: engine.instance.id, job_ids: [jobId] }])
  release.resolve()
  await until(isDone(jobId), 'it has run')
  expect((await journalOf(database, jobId)).map(({ action, revision }) => [action, revision])).toEqual([
    ['job_enqueued', 1],
    ['job_done', 3],
  ])
  await until(async () => (await claimRows()).length === 0, 'its claim has gone')
  expect(engine.claims.length).toBe(looks)
})

test('what has a key or waits for its time goes in pending', async () => {
  const enqueuer = enqueuerOf(await atRest([kind('noted', async () => {})]))
  const later = await enqueued(enqueuer, order('noted', { schedule: { afterMs: 3_600_000 } }))
  const keyed = await enqueued(enqueuer, order('noted', { idempotencyKey: 'k' }))
  for (const { job } of [later, keyed]) expect(job!()).toMatchObject({ status: 'pending', revision: 1 })
  await until(isDone(keyed.jobId), 'it has run')
  expect(await statusOf(later.jobId)).toBe('pending')
})

test('what finds no free slot goes in pending, and the better one is the first to get the slot', async () => {
  const releases = new Map<unknown, () => void>()
  const begun: unknown[] = []
  const noted = kind('noted', ({ payload }) => {
    begun.push(payload['name'])
    return new Promise((resolve) => releases.set(payload['name'], resolve))
  })
  const enqueuer = enqueuerOf(await atRest([noted], { slots: 1 }))
  const named = async (name: string, priority: number): Promise<string> => {
    const given = order('noted', { payloadText: JSON.stringify({ name }), priority })
    return (await enqueued(enqueuer, given)).job!().status
  }
  expect(await named('first', 100)).toBe('running')
  expect(await named('worse', 900)).toBe('pending')
  expect(await named('better', 1)).toBe('pending')
  for (const [i, name] of ['first', 'better', 'worse'].entries()) {
    await until(() => begun.length === i + 1, `${i + 1} have begun`)
    expect(begun[i]).toBe(name)
    releases.get(name)!()
  }
})

test('while something else may be due it comes first', async () => {
  const { engine, wakeup } = await atRest([kind('noted', async () => {})])
  const never = (): never => expect.unreachable('the workers are looking')
  wakeup.signal('work')
  expect(engine.startAtOnce({ kind: 'noted', tenantId }, never)).toBeNull()
})

test('while another instance has its turn to claim, what is due is not known: it goes in pending', async () => {
  const engine = await startEngine(database, [kind('noted', async () => {})], { pollMs: 60_000 })
  engines.push(engine)
  const other = await database.pool.connect()
  try {
    await other.query('begin')
    await other.query(`select pg_advisory_xact_lock(hashtextextended('stellwerk claim', 0))`)
    const looks = engine.claims.length
    engine.wakeup.signal('work')
    await until(() => engine.claims.length > looks, 'it was held up')
    const { jobId, job } = await enqueued(enqueuerOf(engine), order('noted'))
    expect(job!()).toMatchObject({ status: 'pending' })
    await other.query('rollback')
    await until(isDone(jobId), 'it has run, without a wake-up or the poll')
  } finally {
    other.release()
  }
})

test('what is paused, under a cap, limited or served elsewhere does not start', async () => {
  const kinds = ['paused', 'capped', 'limited', 'free'].map((name) =>
    kind(name, async () => {}, name === 'limited' ? { defaults: { rateLimit: { rps: 1, burst: 1 } } } : {}),
  )
  await database.sql(`insert into mdm.aa_concurrency_limit (job_kind, max) values ('capped', 1)`)
  await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('paused', 'user:ada')`)
  const engine = await atRest(kinds)
  const started: string[] = []
  for (const name of ['paused', 'capped', 'limited', 'free', 'unknown']) {
    const answer = engine.engine.startAtOnce({ kind: name, tenantId }, async () => (started.push(name), []))
    await answer
    const rests = engine.claims.length
    // A statement that wrote nothing has the workers look.
    if (answer !== null) await until(() => engine.claims.length > rests, 'they have looked')
  }
  expect(started).toEqual(['free'])
})

test('what is refused says why, holds no slot, and leaves no claim', async () => {
  const engine = await atRest([kind('noted', async () => {})], { slots: 1 })
  const enqueuer = enqueuerOf(engine)
  expect(await enqueuer.enqueue(order('noted', { priority: 5_000 }))).toEqual({
    type: 'refused',
    message: 'Priority 5000 is outside 0 to 1000.',
  })
  expect(await enqueuer.enqueue(order('noted', { payloadText: '{"a":"\\u0000"}' }))).toMatchObject({ type: 'refused' })
  const { jobId } = await enqueued(enqueuer, order('noted'))
  await until(isDone(jobId), 'the next one has run')
  expect(await database.sql('select from mdm.aa_job')).toHaveLength(1)
})

test('an answer that is lost on its way, even before the commit: the instance finds what it holds, and runs it once', async () => {
  const runs: string[] = []
  const noted = kind('noted', async ({ job }) => void runs.push(job.id))
  const engine = await atRest([noted], { pollMs: 200 })
  const lost = new DatabaseUnavailable({ outcomeUnknown: true })
  const session = await database.pool.connect()
  const answer = engine.engine.startAtOnce({ kind: 'noted', tenantId }, async (claimer) => {
    await session.query('begin')
    await claimed(session, claimer)
    throw lost
  })
  await expect(answer).rejects.toBe(lost)
  const looks = engine.claims.length
  await until(() => engine.claims.length >= looks + 4, 'it was looked for in vain')
  await session.query('commit')
  session.release()
  await until(() => runs.length > 0, 'it has run')
  await until(isDone(runs[0]!), 'its end is written')
  expect((await journalOf(database, runs[0]!)).map(({ action }) => action)).toEqual(['job_enqueued', 'job_done'])
  expect(runs).toHaveLength(1)
})

test('a stop that comes before the answer waits for it and gives the job back, attempts untouched', async () => {
  const runs: string[] = []
  const engine = await atRest([kind('noted', async ({ job }) => void runs.push(job.id))])
  const written = Promise.withResolvers<void>()
  const answer = engine.engine.startAtOnce({ kind: 'noted', tenantId }, async (claimer) => {
    await written.promise
    return claimed(database.pool, claimer)
  })
  const stopped = engine.stop()
  written.resolve()
  const [[jobId] = ['']] = (await answer)!
  await stopped
  expect(await storedJob(database, jobId)).toMatchObject({ status: 'pending', attempts: 0, lease: null })
  expect(await claimRows()).toEqual([])
  expect(runs).toEqual([])
})
