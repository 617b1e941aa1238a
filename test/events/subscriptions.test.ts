import { afterEach, describe, expect, test } from 'vitest'
import type { JobUpdate } from '../../src/events/job-update.ts'
import { StreamError } from '../../src/events/stream-error.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { claimJob, discardJob, enqueueChore, failJob, finishJob } from './job-moves.ts'
import { relayFixture, type TestRelay } from './relay-fixture.ts'
import { namesOf, namesUntil, pullUntil, stepsOf, toItsEnd } from './stream-reading.ts'

const { database, newRelay } = relayFixture()
const random = seededRandom()
/** STELLWERK_JOB_LIVES=500 is what the promise was tried with. */
const lives = Number(process.env.STELLWERK_JOB_LIVES ?? 200)
let used: TestRelay[] = []
const take = (pollMs?: number): TestRelay => {
  const relay = newRelay(pollMs)
  used.push(relay)
  return relay
}
afterEach(() => {
  const left = used.flatMap(({ relay, listeners }) => [relay.openStreams(), listeners()])
  used = []
  if (left.some((count) => count > 0)) throw new Error(`Streams and listeners are left: ${left.join(', ')}.`)
})

/** Enqueues jobs in one statement. */
async function enqueueMany(count: number): Promise<string[]> {
  const rows = await database().sql<{ job_id: string }>(
    `select job_id from mdm.enqueue_jobs((select jsonb_agg('{"kind": "chore", "payload": {}}'::jsonb) from generate_series(1, $1)), false)`,
    [count],
  )
  return rows.map(({ job_id }) => job_id)
}

/** So many changes of one job, each a transaction's worth. */
async function reprioritize(jobId: string, times: number): Promise<void> {
  await database().sql(`
    do $$ begin
      for i in 1..${times} loop
        with moved as (update mdm.aa_job set priority = i % 1000, revision = revision + 1 where id = '${jobId}' returning *)
        insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind) select id, tenant_id, 'job_reprioritized', revision, job_kind from moved;
      end loop;
    end $$`)
}

test('S01: who subscribes and leaves at once leaves nothing behind', async () => {
  const { relay, ofJob, ofJobs, statements } = take()
  const jobId = await enqueueChore(database().pool)
  for (let i = 0; i < 1_000; i += 1) {
    const stream = i % 2 === 0 ? ofJob(jobId) : ofJobs()
    const first = random.next() < 0.5 ? stream.next() : undefined
    // Some are a while under way when they leave.
    if (random.next() < 0.1) await database().sql('select 1')
    await stream.return()
    if (first !== undefined) await first
  }
  expect(relay.openStreams()).toBe(0)
  // Nor a queue of reads that whoever comes next has to wait for.
  await relay.stop()
  expect(statements.length).toBeLessThan(500)
})

test('S02: 5,000 quiet streams end at once, without waiting for an event, and cost no reads of their own', async () => {
  const { relay, ofJob, wake, statements } = take(60_000)
  const jobs = (await Promise.all(Array.from({ length: 5 }, () => enqueueMany(1_000)))).flat()
  const streams = jobs.map((jobId) => ofJob(jobId))
  await Promise.all(streams.map((stream) => stream.next()))
  const waiting = streams.map((stream) => stream.next())
  expect(relay.openStreams()).toBe(5_000)

  statements.length = 0
  wake()
  await until(() => statements.includes('read_journal_tail'), 'the relay has looked')
  const other = await enqueueChore(database().pool)
  wake()
  await until(
    () => statements.filter((name) => name === 'read_journal_tail').length === 2,
    'the relay has looked again',
  )
  expect(statements).toEqual(['read_journal_tail', 'read_journal_tail'])
  expect(other).not.toBe('')

  const since = performance.now()
  for (const stream of streams) await stream.return()
  expect((await Promise.all(waiting)).every(({ done }) => done)).toBe(true)
  expect(performance.now() - since).toBeLessThan(2_000)
})

test('an instance without subscribers does not read', async () => {
  const { relay, ofJobs, wake, listeners, statements } = take(1)
  for (let i = 0; i < 2; i += 1) {
    expect(listeners()).toBe(0)
    const stream = ofJobs()
    const first = stream.next()
    await until(() => statements.includes('read_journal_tail'), 'it reads for a subscriber')
    await stream.return()
    await first
    // The look that was under way when the last one left.
    await relay.stop()
    statements.length = 0
    wake()
    await enqueueChore(database().pool)
    expect(statements).toEqual([])
  }
})

describe('S03: a reader that does not pull', () => {
  test('harms nobody, and reads from the journal what fell out of the window', async () => {
    const { relay, ofJobs, wake } = take()
    const after = await relay.streamCursor()
    const slow = ofJobs({ after })
    const quick = ofJobs({ after })
    const first = await enqueueChore(database().pool)
    wake()
    expect(namesOf((await slow.next()).value!)).toEqual([`${first}:1:ENQUEUED`])
    const expected: string[] = []
    for (let i = 0; i < 8; i += 1) expected.push(...(await enqueueMany(1_000)).map((jobId) => `${jobId}:1:ENQUEUED`))
    wake()
    const isLast = (name: string): boolean => name === expected.at(-1)
    expect(await namesUntil(quick, isLast)).toEqual([`${first}:1:ENQUEUED`, ...expected])
    expect(await namesUntil(slow, isLast)).toEqual(expected)
    await Promise.all([slow.return(), quick.return()])
  })

  test('begins anew with one RESYNC when it is more than 10,000 events behind', async () => {
    const { relay, ofJobs, wake } = take()
    const after = await relay.streamCursor()
    const slow = ofJobs({ after })
    const quick = ofJobs({ after })
    const first = await enqueueChore(database().pool)
    wake()
    await slow.next()
    let last = first
    for (let i = 0; i < 11; i += 1) last = (await enqueueMany(1_000)).at(-1)!
    wake()
    await namesUntil(quick, (name) => name.startsWith(last))
    const { value } = await slow.next()
    expect(value).toMatchObject({ resync: true, updates: [] })
    const next = await enqueueChore(database().pool)
    wake()
    expect(await namesUntil(slow, () => true)).toEqual([`${next}:1:ENQUEUED`])
    await Promise.all([slow.return(), quick.return()])
    // Its cursor leads on from there.
    const resumed = ofJobs({ after: value!.cursor })
    expect(await namesUntil(resumed, () => true)).toEqual([`${next}:1:ENQUEUED`])
    await resumed.return()
  })

  test('of one job gets every event all the same', async () => {
    const { ofJob, wake, statements } = take()
    const jobId = await enqueueChore(database().pool)
    const stream = ofJob(jobId, { completeOn: [] })
    expect(stepsOf([(await stream.next()).value!])).toEqual(['SNAPSHOT 1'])
    await reprioritize(jobId, 1_200)
    wake()
    await failJob(database().pool, await claimJob(database().pool, jobId))
    const claim = await claimJob(database().pool, jobId)
    statements.length = 0
    await until(() => statements.filter((name) => name === 'read_journal_tail').length > 2, 'all was read')
    const steps: string[] = []
    while (steps.length < 1_203) steps.push(...stepsOf([(await stream.next()).value!]))
    const changes = Array.from({ length: 1_200 }, (_, i) => `REPRIORITIZED ${i + 2}`)
    expect(steps).toEqual([...changes, 'CLAIMED 1202', 'RETRY_SCHEDULED 1203', 'CLAIMED 1204'])
    await finishJob(database().pool, claim)
    expect(stepsOf([(await stream.next()).value!])).toEqual(['SUCCEEDED 1205'])
    await stream.return()
  })
})

describe('S04: the state first, then what changes it', () => {
  test('a finished job is one SNAPSHOT and the end', async () => {
    const { ofJob } = take()
    const jobId = await enqueueChore(database().pool)
    await finishJob(database().pool, await claimJob(database().pool, jobId))
    expect(stepsOf(await toItsEnd(ofJob(jobId)))).toEqual(['SNAPSHOT 3'])
  })

  test(`no gap and nothing old, however the job runs meanwhile (SEED=${random.seed})`, async () => {
    const { ofJob, wake } = take()
    const run = async (): Promise<void> => {
      const jobId = await enqueueChore(database().pool)
      const move = async (): Promise<void> => {
        await finishJob(database().pool, await claimJob(database().pool, jobId))
        wake()
      }
      const moving = random.next() < 0.5 ? move() : undefined
      const updates = toItsEnd(ofJob(jobId))
      await (moving ?? move())
      const revisions = (await updates).map(({ job, event }) => event?.revision ?? job!.revision)
      expect(revisions, `SEED=${random.seed}`).toEqual(revisions.map((_, i) => revisions[0]! + i))
      expect(revisions.at(-1), `SEED=${random.seed}`).toBe(3)
    }
    for (let i = 0; i < lives; i += 5) await Promise.all(Array.from({ length: 5 }, run))
  }, 120_000)
})

test('S10: every stream ends in a result, an error or the end, whatever is passed in', async () => {
  const { relay, ofJob, ofJobs } = take()
  const jobId = await enqueueChore(database().pool)
  const other = await enqueueChore(database().pool)
  const cursor = await relay.streamCursor()
  const bad = [
    '',
    'x',
    cursor.slice(4),
    `job.${other}.1`,
    `job.${jobId}.`,
    `jobs.${'z'.repeat(11)}.0..`,
    'jobs.1.1.9-9_9-9.',
    '\u0000',
    'j'.repeat(10_000),
  ]
  for (const after of [...bad, cursor])
    await expect(ofJob(jobId, { after }).next()).rejects.toMatchObject({ code: 'INVALID' })
  for (const after of [...bad, `job.${jobId}.1`])
    await expect(ofJobs({ after }).next()).rejects.toMatchObject({ code: 'INVALID' })
  const unseen = ofJob(jobId, { sees: () => false })
  await expect(unseen.next()).rejects.toBeInstanceOf(StreamError)
  expect(await unseen.next()).toEqual({ done: true, value: undefined })
  await expect(ofJob('0197f3c2-0000-7000-8000-000000000000').next()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(
    ofJob('0197f3c2-0000-7000-8000-000000000000', { after: 'job.0197f3c2-0000-7000-8000-000000000000.1' }).next(),
  ).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('S12: a stop ends every stream, and another instance goes on from the cursor', async () => {
  const [first, second] = [take(), take()]
  const jobId = await enqueueChore(database().pool)
  const many = first.ofJobs({ after: await first.relay.streamCursor() })
  const one = first.ofJob(jobId)
  const snapshot = (await one.next()).value!
  const claim = await claimJob(database().pool, jobId)
  first.wake()
  let cursor = ''
  await pullUntil(
    many,
    (name) => name === `${jobId}:2:CLAIMED`,
    (batch) => (cursor = batch.cursor),
  )
  const waiting = [many.next(), one.next(), one.next()] as const
  await waiting[1]
  await first.relay.stop()
  expect((await waiting[0]).done).toBe(true)
  expect((await waiting[2]).done).toBe(true)

  await finishJob(database().pool, claim)
  const resumed = second.ofJobs({ after: cursor })
  expect(await namesUntil(resumed, () => true)).toEqual([`${jobId}:3:SUCCEEDED`])
  await resumed.return()
  expect(stepsOf(await toItsEnd(second.ofJob(jobId, { after: snapshot.cursor })))).toEqual(['CLAIMED 2', 'SUCCEEDED 3'])
  expect(stepsOf(await toItsEnd(second.ofJob(jobId, { after: `job.${jobId}.3` })))).toEqual([])
})

test('a job stream ends with the discard, and tells it to who was away', async () => {
  const { relay, ofJob, ofJobs, wake } = take()
  const after = await relay.streamCursor()
  const jobId = (
    await database().sql<{ job_id: string }>(`select job_id from mdm.enqueue_job('chore', '{}', tags => '{blue}')`)
  )[0]!.job_id
  const stream = ofJob(jobId)
  const { cursor } = (await stream.next()).value!
  await discardJob(database().pool, jobId)
  wake()
  const told: JobUpdate[] = await toItsEnd(stream)
  expect(told).toMatchObject([
    { type: 'EVENT', job: null, event: { type: 'DISCARDED', fromStatus: 'pending', toStatus: null } },
  ])
  expect(stepsOf(await toItsEnd(ofJob(jobId, { after: cursor })))).toEqual(['DISCARDED 2'])
  await expect(ofJob(jobId).next()).rejects.toMatchObject({ code: 'NOT_FOUND' })

  // Filters know it from what the journal kept.
  const blue = ofJobs({ after, filter: { tag: ['blue'] } })
  const { value } = await blue.next()
  expect(value!.updates.map(({ event, matchesFilter }) => [event!.type, matchesFilter])).toEqual([
    ['ENQUEUED', true],
    ['DISCARDED', false],
  ])
  await blue.return()
  const red = ofJobs({ after, filter: { tag: ['red'] } })
  const next = red.next()
  const redJob = (
    await database().sql<{ job_id: string }>(`select job_id from mdm.enqueue_job('chore', '{}', tags => '{red,blue}')`)
  )[0]!.job_id
  wake()
  expect(namesOf((await next).value!)).toEqual([`${redJob}:1:ENQUEUED`])
  await red.return()
})

test('S06: filters look at the job before and after the step, and tenants never see each other', async () => {
  const { ofJobs, wake, relay } = take()
  await database().sql(`insert into mdm.aa_tenant (tenant_key, name) values ('other', 'Other')`)
  const after = await relay.streamCursor()
  const jobId = await enqueueChore(database().pool)
  const foreign = await enqueueChore(database().pool, { tenant: 'other' })
  const [{ tenant_id: tenantId }] = (await database().sql<{ tenant_id: string }>(
    'select tenant_id from mdm.aa_job where id = $1',
    [jobId],
  )) as [{ tenant_id: string }]
  await finishJob(database().pool, await claimJob(database().pool, jobId))
  await finishJob(database().pool, await claimJob(database().pool, foreign))
  const marker = await enqueueChore(database().pool)
  wake()
  const events = async (options: Parameters<typeof ofJobs>[0]): Promise<unknown[]> => {
    const stream = ofJobs({ after, ...options })
    const found: unknown[] = []
    await pullUntil(
      stream,
      (name) => name.startsWith(marker),
      ({ updates }) => found.push(...updates.filter(({ jobId: id }) => id !== marker)),
    )
    await stream.return()
    return (found as JobUpdate[]).map(({ jobId: id, event, matchesFilter }) => [
      id === jobId ? 'mine' : 'foreign',
      event!.type,
      matchesFilter,
    ])
  }
  expect(await events({ sees: (tenant) => tenant === tenantId })).toEqual([
    ['mine', 'ENQUEUED', true],
    ['mine', 'CLAIMED', true],
    ['mine', 'SUCCEEDED', true],
  ])
  expect(await events({ filter: { tenantId: [tenantId], status: ['pending'] } })).toEqual([
    ['mine', 'ENQUEUED', true],
    ['mine', 'CLAIMED', false],
  ])
  expect(await events({ filter: { id: [jobId, marker] }, conflate: true })).toEqual([['mine', 'SUCCEEDED', true]])
})

test('progress: the latest is told, the last one before the end', async () => {
  const { ofJob, ofJobs, wake, report: hint } = take()
  const jobId = await enqueueChore(database().pool)
  const claim = await claimJob(database().pool, jobId)
  const stream = ofJob(jobId, { progressEveryMs: 50 })
  const many = ofJobs({ filter: { id: [jobId] }, progress: true })
  const first = many.next()
  expect(stepsOf([(await stream.next()).value!])).toEqual(['SNAPSHOT 2'])
  const report = (done: number): Promise<unknown> =>
    database().sql(`update mdm.aa_job set progress = jsonb_build_object('done', $2::int) where id = $1`, [jobId, done])
  const next = stream.next()
  await report(1)
  hint({ jobId, claimedMs: 0, report: 0, at: Date.now(), text: null })
  expect((await next).value).toMatchObject({ type: 'PROGRESS', job: { progress: { done: 1 } } })
  expect((await first).value!.updates).toMatchObject([{ type: 'PROGRESS', job: { progress: { done: 1 } } }])
  // Nobody tells of this one: it goes before the end.
  await report(2)
  await finishJob(database().pool, claim)
  wake()
  const rest = await toItsEnd(stream)
  expect(rest.at(-1)).toMatchObject({ type: 'EVENT', event: { type: 'SUCCEEDED' } })
  expect(rest.at(-2)).toMatchObject({ type: 'PROGRESS', job: { progress: { done: 2 } } })
  await many.return()
})

test('a database that goes away and comes back leaves no gap', async () => {
  const { relay, ofJobs, ofJob, wake } = take()
  const jobId = await enqueueChore(database().pool)
  const stream = ofJobs({ after: await relay.streamCursor() })
  const one = ofJob(jobId, { completeOn: [] })
  await one.next()
  const names: string[] = []
  const expected: string[] = []
  for (let i = 0; i < 5; i += 1) {
    const name = `${await enqueueChore(database().pool)}:1:ENQUEUED`
    expected.push(name)
    wake()
    names.push(...(await namesUntil(stream, (each) => each === name)))
    await database()
      .sql(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      )
      .catch(() => undefined)
  }
  expect(names).toEqual(expected)
  await claimJob(database().pool, jobId)
  wake()
  expect(stepsOf([(await one.next()).value!])).toEqual(['CLAIMED 2'])
  await Promise.all([stream.return(), one.return()])
})
