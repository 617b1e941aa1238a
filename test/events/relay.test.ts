import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JobUpdate, JobUpdateBatch } from '../../src/events/job-update.ts'
import { createRelay, type Relay } from '../../src/events/relay.ts'
import type { Stream } from '../../src/events/stream.ts'
import { readJobs } from '../../src/sql/read-jobs.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { claimJob, discardJob, enqueueChore, failJob, finishJob, registerChore } from './job-moves.ts'

let database: TestDatabase
let relay: Relay
const wakers = new Set<() => void>()
const wake = (): void => wakers.forEach((each) => each())
const all = () => true

beforeAll(async () => {
  database = await testDatabase()
  await registerChore(database.pool)
  relay = createRelay({
    db: database.pool,
    wakeup: { on: (_, hear) => (wakers.add(hear), () => wakers.delete(hear)) },
    pollMs: 50,
    onError: (error) => console.error(error),
  })
})
afterAll(async () => {
  await relay.stop()
  await database.drop()
})

const ofJob = (jobId: string, after: string | null = null): Stream<JobUpdate> =>
  relay.watchJob({ jobId, after, completeOn: ['done', 'dlq', 'failed'], progressEveryMs: null, sees: all })

const ofJobs = (after: string | null = null, filter = {}): Stream<JobUpdateBatch> =>
  relay.watchJobs({ filter, after, windowMs: 0, conflate: false, progress: false, sees: all })

test('one job', async () => {
  const jobId = await enqueueChore(database.pool)
  const stream = ofJob(jobId)
  const first = await stream.next()
  expect(first.value).toMatchObject({ type: 'SNAPSHOT', jobId, job: { revision: 1 } })
  const claim = await claimJob(database.pool, jobId)
  wake()
  expect((await stream.next()).value).toMatchObject({ type: 'EVENT', event: { type: 'CLAIMED', revision: 2 } })
  await finishJob(database.pool, claim)
  wake()
  expect((await stream.next()).value).toMatchObject({ type: 'EVENT', event: { type: 'SUCCEEDED', revision: 3 } })
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  expect(relay.openStreams()).toBe(0)
})

test('many', async () => {
  const cursor = await relay.streamCursor()
  const jobId = await enqueueChore(database.pool)
  const stream = ofJobs(cursor)
  const first = (await stream.next()).value as JobUpdateBatch
  expect(first.updates.map(({ event }) => [event!.type, event!.revision])).toEqual([['ENQUEUED', 1]])
  const claim = await claimJob(database.pool, jobId)
  const second = (await stream.next()).value as JobUpdateBatch
  expect(second.updates.map(({ event }) => [event!.type, event!.revision])).toEqual([['CLAIMED', 2]])
  await finishJob(database.pool, claim)
  const third = (await stream.next()).value as JobUpdateBatch
  expect(third.updates.map(({ event }) => [event!.type, event!.revision])).toEqual([['SUCCEEDED', 3]])
  await stream.return()
  for (const after of [cursor, first.cursor, second.cursor]) {
    const again = ofJobs(after)
    const got = (await again.next()).value as JobUpdateBatch
    console.log(after, got.updates.map(({ event }) => [event!.type, event!.revision]))
    await again.return()
  }
  expect(relay.openStreams()).toBe(0)
})
