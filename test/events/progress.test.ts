import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { createListener, type Listener } from '../../src/db/listen.ts'
import type { JobUpdate } from '../../src/events/job-update.ts'
import { packHints, unpackHints, type ProgressHint } from '../../src/events/progress-hint.ts'
import type { Stream } from '../../src/events/stream.ts'
import { createWakeup, type Wakeup } from '../../src/events/wakeup.ts'
import { createProgressWriter } from '../../src/workers/progress-writer.ts'
import type { Run } from '../../src/workers/run.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { claimJob, enqueueChore, failJob, finishJob } from './job-moves.ts'
import { relayFixture } from './relay-fixture.ts'
import { stepsOf, toItsEnd } from './stream-reading.ts'

const { database, newRelay } = relayFixture()
const random = seededRandom()
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function claimedMsOf(jobId: string): Promise<number> {
  const [row] = await database().sql<{ ms: number }>(
    `select date_part('epoch', claimed_at) * 1000 as ms from mdm.aa_job where id = $1`,
    [jobId],
  )
  return row!.ms
}

const hintOf = (jobId: string, claimedMs: number, report: number, more: object = {}): ProgressHint => ({
  jobId,
  claimedMs,
  report,
  at: Date.now(),
  text: JSON.stringify({ done: report, report, ...more }),
})

const doneIn = ({ value }: IteratorResult<JobUpdate, undefined>): unknown => value?.job?.progress?.['done']

async function save(jobId: string, report: number): Promise<void> {
  await database().sql(
    `update mdm.aa_job set progress = jsonb_build_object('done', $2::int, 'report', $2::int, 'at', now()) where id = $1`,
    [jobId, report],
  )
}

describe('a report', () => {
  test('is told before it is on the row, once, and never after a newer one', async () => {
    const { ofJob, report, wake } = newRelay(60_000)
    const jobId = await enqueueChore(database().pool)
    const claim = await claimJob(database().pool, jobId)
    const claimedMs = await claimedMsOf(jobId)
    const stream = ofJob(jobId, { progressEveryMs: 1 })
    expect(stepsOf([(await stream.next()).value!])).toEqual(['SNAPSHOT 2'])

    report(hintOf(jobId, claimedMs, 1))
    expect(doneIn(await stream.next())).toBe(1)
    // On the row by now: no news. Nor is what was late on its way.
    await save(jobId, 1)
    report(hintOf(jobId, claimedMs, 1))
    report(hintOf(jobId, claimedMs, 3))
    report(hintOf(jobId, claimedMs, 2))
    expect(doneIn(await stream.next())).toBe(3)
    // A look at the rows finds an older one there.
    await save(jobId, 2)
    const next = stream.next()
    expect(await Promise.race([next, wait(1_500)])).toBeUndefined()
    // The end of the run brings the last one, which nobody told of, before itself.
    await save(jobId, 4)
    await finishJob(database().pool, claim)
    wake()
    expect(doneIn(await next)).toBe(4)
    expect(stepsOf(await toItsEnd(stream))).toEqual(['SUCCEEDED 3'])
  })

  test('that comes before its claim is told waits for it, and one of a former run is told to nobody', async () => {
    const { ofJob, report, wake, statements } = newRelay(60_000)
    const jobId = await enqueueChore(database().pool)
    const stream = ofJob(jobId, { progressEveryMs: 1 })
    expect(stepsOf([(await stream.next()).value!])).toEqual(['SNAPSHOT 1'])
    const first = await claimJob(database().pool, jobId)
    const firstMs = await claimedMsOf(jobId)
    statements.length = 0
    report(hintOf(jobId, firstMs, 1))
    await until(() => statements.includes('read_jobs'), 'the report was looked at')
    wake()
    expect(stepsOf([(await stream.next()).value!])).toEqual(['CLAIMED 2'])
    expect(doneIn(await stream.next())).toBe(1)

    await failJob(database().pool, first)
    await database().sql(`update mdm.aa_job set available_at = now(), deferred = false where id = $1`, [jobId])
    await claimJob(database().pool, jobId)
    const secondMs = await claimedMsOf(jobId)
    wake()
    expect(stepsOf([(await stream.next()).value!])).toEqual(['RETRY_SCHEDULED 3'])
    expect(stepsOf([(await stream.next()).value!])).toEqual(['CLAIMED 4'])
    report(hintOf(jobId, firstMs, 99))
    await wait(100)
    report(hintOf(jobId, secondMs, 1, { message: 'second run' }))
    expect((await stream.next()).value).toMatchObject({
      type: 'PROGRESS',
      job: { progress: { done: 1, message: 'second run' } },
    })
    await stream.return()
  })

  test('of many in one go: the last; and a stream that begins anew does not lose the one that waits', async () => {
    const { ofJob, ofJobs, report, statements } = newRelay(60_000)
    const jobId = await enqueueChore(database().pool)
    await claimJob(database().pool, jobId)
    const claimedMs = await claimedMsOf(jobId)
    const stream = ofJob(jobId, { progressEveryMs: 200 })
    const many = ofJobs({ filter: { id: [jobId] }, progress: true })
    const batch = many.next()
    await stream.next()
    statements.length = 0
    for (let i = 1; i <= 1_000; i += 1) report(hintOf(jobId, claimedMs, i))
    expect(doneIn(await stream.next())).toBe(1_000)
    expect((await batch).value!.updates).toMatchObject([{ type: 'PROGRESS', job: { progress: { done: 1_000 } } }])
    expect(statements.filter((name) => name === 'read_jobs').length).toBeLessThan(5)
    await Promise.all([stream.return(), many.return()])
  })
})

describe('between instances', () => {
  async function instance(): Promise<{ wakeup: Wakeup; heard: ProgressHint[] }> {
    const listener: Listener = createListener({ url: database().url, onLost: () => {}, onRestored: () => {} })
    const wakeup = createWakeup({ instanceId: randomUUID(), db: database().pool, listener })
    const heard: ProgressHint[] = []
    wakeup.onProgress((hint) => heard.push(hint))
    await wakeup.start()
    stops.push(async () => {
      await wakeup.stop()
      await listener.stop()
    })
    return { wakeup, heard }
  }

  test('the latest report of each job arrives, in messages that PostgreSQL takes', async () => {
    const [one, other] = [await instance(), await instance()]
    const jobs = Array.from({ length: 700 }, () => randomUUID())
    for (const report of [1, 2, 3])
      for (const jobId of jobs) one.wakeup.tellProgress(hintOf(jobId, 1, report, { message: 'ä'.repeat(300) }))
    expect(one.heard).toHaveLength(2_100)
    await until(() => new Set(other.heard.map(({ jobId }) => jobId)).size === 700, 'all jobs were told of')
    expect(other.heard.every(({ report }) => report === 3)).toBe(true)
    expect(other.heard).toHaveLength(700)
  })

  test('a report that is too long for a message comes without its text, and the row has it', async () => {
    const [one, other] = [await instance(), await instance()]
    const hint = hintOf(randomUUID(), 1, 1, { data: 'x'.repeat(8_000) })
    one.wakeup.tellProgress(hint)
    await until(() => other.heard.length === 1, 'it came')
    expect(other.heard[0]).toEqual({ ...hint, text: null })

    const { ofJob, report } = newRelay(60_000)
    const jobId = await enqueueChore(database().pool)
    await claimJob(database().pool, jobId)
    const stream: Stream<JobUpdate> = ofJob(jobId, { progressEveryMs: 1 })
    await stream.next()
    await save(jobId, 7)
    report({ ...hintOf(jobId, await claimedMsOf(jobId), 7), text: null })
    expect(doneIn(await stream.next())).toBe(7)
    await stream.return()
  })

  test(`whatever else comes over the channel is left out (SEED=${random.seed})`, () => {
    const whole = packHints([hintOf(randomUUID(), 1, 2)])[0]!
    expect(unpackHints(whole)).toHaveLength(1)
    for (const other of [
      '',
      '{}',
      '[1]',
      '[["a"]]',
      '[["a",1,1,1,"[]"]]',
      '[["a",1,1,1e400,null]]',
      '[["a",1,1,1,"{"]]',
    ])
      expect(unpackHints(other)).toEqual([])
    for (let i = 0; i < 500; i += 1) unpackHints(whole.slice(0, random.below(whole.length)))
  })
})

test('a handler’s reports are told at once, written at most once a second, and the last is never lost', async () => {
  const jobId = await enqueueChore(database().pool)
  const { lease } = await claimJob(database().pool, jobId)
  const told: ProgressHint[] = []
  let writes = 0
  const run = { id: jobId, claimedMs: 5, claim: { id: '1', lease, open: 1 } } as Run
  const writer = createProgressWriter({
    pool: database().pool,
    run,
    onReport: (hint) => told.push(hint),
    onSaved: () => (writes += 1),
    onLost: () => {},
    onStop: () => {},
  })
  const first = writer.report({ done: 1 })
  expect(told).toMatchObject([{ jobId, report: 1, text: '{"done":1,"report":1}' }])
  await first
  for (let done = 2; done <= 50; done += 1) await writer.report({ done })
  expect(told.filter(({ text }) => text !== null)).toHaveLength(50)
  expect(writes).toBe(1)
  await writer.finish()
  expect(writes).toBe(2)
  const [row] = await database().sql<{ progress: object }>('select progress from mdm.aa_job where id = $1', [jobId])
  expect(row!.progress).toMatchObject({ done: 50, report: 50 })
  expect(told.at(-1)).toMatchObject({ report: 50, text: null })
})
