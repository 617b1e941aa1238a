import { afterEach, expect, test } from 'vitest'
import type { JobUpdate } from '../../src/events/job-update.ts'
import type { Crowd, Hearer, Stream } from '../../src/events/stream.ts'
import type { WatchJob } from '../../src/events/watch-job.ts'
import { seededRandom, type Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import { claimJob, enqueueChore, failJob, finishJob } from './job-moves.ts'
import { relayFixture, type TestRelay } from './relay-fixture.ts'
import { stepsOf, toItsEnd } from './stream-reading.ts'

const { database, newRelay } = relayFixture()
const random = seededRandom()
let used: TestRelay[] = []
const take = (): TestRelay => {
  const relay = newRelay()
  used.push(relay)
  return relay
}
afterEach(() => {
  const left = used.flatMap(({ relay, listeners }) => [relay.openStreams(), listeners()])
  used = []
  if (left.some((count) => count > 0)) throw new Error(`Streams and listeners are left: ${left.join(', ')}.`)
})

/** pending -> pending. */
async function moveForward(jobId: string): Promise<void> {
  await database().sql(
    `with moved as (update mdm.aa_job set priority = (priority + 1) % 1000, revision = revision + 1 where id = $1 returning *)
     insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id)
     select id, tenant_id, 'job_reprioritized', revision, job_kind, 'user:test' from moved`,
    [jobId],
  )
}

/** Counts who is told what at a time. */
function countingCrowd(name: string): { crowd: Crowd<JobUpdate>; told: { step: string; hearers: number }[] } {
  const told: { step: string; hearers: number }[] = []
  const hear: Crowd<JobUpdate>['hear'] = (update, hearers, ended) => {
    const all = [...hearers]
    told.push({ step: stepsOf([update])[0]!, hearers: all.length })
    for (const hearer of all) if (!hearer.hear(update, false)) ended(hearer, true)
  }
  return { crowd: { name, hear }, told }
}

/** Listens for good, and reads what it has to ask for. */
function follow(stream: Stream<JobUpdate>, crowd: Crowd<JobUpdate>): { updates: JobUpdate[]; ended: Promise<void> } {
  const updates: JobUpdate[] = []
  const run = async (): Promise<void> => {
    for (;;) {
      await new Promise<void>((resolve) => {
        const hear = (update: JobUpdate): boolean => {
          updates.push(update)
          return true
        }
        if (!stream.listen({ hear, wake: resolve, crowd })) resolve()
      })
      const step = await stream.next()
      if (step.done === true) return
      updates.push(step.value)
    }
  }
  return { updates, ended: run() }
}

test('who watches a job, was told the same and asks the same is told together, but for what ends a run or the stream', async () => {
  const { relay, ofJob, wake } = take()
  const jobId = await enqueueChore(database().pool)
  const { crowd, told } = countingCrowd('a')
  const options: Partial<WatchJob>[] = [{}, {}, {}, { progressEveryMs: 1_000 }, { completeOn: [] }]
  const followers = options.map((each) => follow(ofJob(jobId, each), crowd))
  const hadBy = (count: number): Promise<true> =>
    until(() => followers.every(({ updates }) => updates.length >= count), `each has ${count}`)
  const step = async (move: () => Promise<unknown>, count: number): Promise<void> => {
    await move()
    wake()
    await hadBy(count)
  }
  let claim: Awaited<ReturnType<typeof claimJob>>
  await hadBy(1)
  await step(() => moveForward(jobId), 2)
  await step(async () => (claim = await claimJob(database().pool, jobId)), 3)
  await step(() => failJob(database().pool, claim), 4)
  await step(async () => (claim = await claimJob(database().pool, jobId)), 5)
  await step(() => finishJob(database().pool, claim), 6)
  const ofStep = Map.groupBy(told, (each) => each.step)
  const crowdsAt = (name: string): number[] =>
    (ofStep.get(name) ?? []).map(({ hearers }) => hearers).toSorted((a, b) => a - b)
  expect(crowdsAt('REPRIORITIZED 2')).toEqual([1, 1, 3])
  expect(crowdsAt('CLAIMED 3')).toEqual([1, 1, 3])
  // A last report may have to go first.
  expect(crowdsAt('RETRY_SCHEDULED 4')).toEqual([1, 3])
  expect(crowdsAt('CLAIMED 5')).toEqual([1, 1, 3])
  // Only the one that never ends.
  expect(told.filter(({ step }) => step.endsWith(' 6'))).toEqual([{ step: 'SUCCEEDED 6', hearers: 1 }])
  const steps = ['SNAPSHOT 1', 'REPRIORITIZED 2', 'CLAIMED 3', 'RETRY_SCHEDULED 4', 'CLAIMED 5', 'SUCCEEDED 6']
  for (const { updates } of followers) expect(stepsOf(updates)).toEqual(steps)
  for (const i of [1, 2, 3]) expect(followers[1]!.updates[i]).toBe(followers[0]!.updates[i])
  expect(relay.openStreams()).toBe(1)
  await relay.stop()
  await Promise.all(followers.map(({ ended }) => ended))
})

test('who may no longer see the tenant is not told with the crowd', async () => {
  const { ofJob, wake } = take()
  const jobId = await enqueueChore(database().pool)
  const { crowd, told } = countingCrowd('a')
  let mayStill = true
  const [lost, other] = [ofJob(jobId, { sees: () => mayStill }), ofJob(jobId)]
  await Promise.all([lost.next(), other.next()])
  mayStill = false
  const heard: JobUpdate[] = []
  const hear = (update: JobUpdate): boolean => (heard.push(update), true)
  let isWoken = false
  lost.listen({ hear, wake: () => (isWoken = true), crowd })
  other.listen({ hear: () => true, wake: () => {}, crowd })
  await moveForward(jobId)
  wake()
  await until(() => isWoken && told.length > 0, 'both are told')
  expect(told).toEqual([{ step: 'REPRIORITIZED 2', hearers: 1 }])
  expect(heard).toEqual([])
  await expect(lost.next()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await Promise.all([lost.return(), other.return()])
})

/** Told together; some drop out before an update, some with it. */
function moodyCrowd(name: string, chance: Random): Crowd<JobUpdate> {
  return {
    name,
    hear(update, hearers, ended) {
      for (const hearer of hearers) {
        if (chance.next() < 0.1) {
          ended(hearer, false)
          hearer.wake()
        } else if (!hearer.hear(update, false)) ended(hearer, true)
      }
    },
  }
}

test(`streams of one job that come, go, listen, dawdle and resume are told each step once (SEED=${random.seed})`, async () => {
  const relays = [take(), take()]
  const jobId = await enqueueChore(database().pool)
  let together = 0
  const followJob = async (seed: number): Promise<string[]> => {
    const chance = seededRandom(seed)
    const steps: string[] = []
    let after: string | null = null
    let isOver = false
    const note = (update: JobUpdate): void => {
      after = update.cursor
      if (update.type === 'EVENT') steps.push(...stepsOf([update]))
      else if (update.type === 'SNAPSHOT' && steps.length === 0) steps.push(`from ${update.job!.revision}`)
      else if (update.type !== 'PROGRESS') throw new Error(`Out of turn: ${update.type}.`)
    }
    /** To some updates, alone or in a crowd. */
    const listen = (stream: Stream<JobUpdate>): Promise<void> =>
      new Promise((resolve) => {
        let left = 1 + chance.below(6)
        const hear = (update: JobUpdate): boolean => {
          note(update)
          left -= 1
          if (left === 0) resolve()
          return left > 0
        }
        const crowd = chance.next() < 0.8 ? moodyCrowd(chance.pick(['a', 'b']), chance) : undefined
        const hearer: Hearer<JobUpdate> = { hear, wake: resolve, crowd }
        if (!stream.listen(hearer)) resolve()
        else if (crowd !== undefined) together += 1
      })
    while (!isOver) {
      const progressEveryMs = chance.pick([null, 50])
      const stream = chance.pick(relays).ofJob(jobId, { after, progressEveryMs })
      for (let pulls = 1 + chance.below(20); pulls > 0 && !isOver; pulls -= 1) {
        if (chance.next() < 0.6) await listen(stream)
        else {
          const ready = stream.ready()
          const step = ready === undefined ? await stream.next() : { done: false, value: ready }
          if (step.value === undefined) isOver = true
          else note(step.value)
        }
        if (chance.next() < 0.1) await database().sql('select pg_sleep(0.02)')
      }
      await stream.return()
    }
    return steps
  }
  const first = relays[0]!.ofJob(jobId)
  await first.next()
  const whole = toItsEnd(first)
  const followers = Array.from({ length: 12 }, (_, i) => followJob(random.seed + i))
  const wake = (): void => {
    for (const relay of relays) if (random.next() < 0.7) relay.wake()
  }
  for (let round = 0; round < 150; round += 1) {
    for (let moves = random.pick([1, 1, 1, 4]); moves > 0; moves -= 1) await moveForward(jobId)
    if (random.next() < 0.2) {
      const claim = await claimJob(database().pool, jobId)
      wake()
      await failJob(database().pool, claim)
    }
    wake()
    // Who is never up to date never listens.
    if (random.next() < 0.7) await database().sql('select pg_sleep(0.015)')
  }
  await finishJob(database().pool, await claimJob(database().pool, jobId))
  const expected = stepsOf(await whole)
  for (const [start, ...steps] of await Promise.all(followers)) {
    expect(steps).toEqual(expected.slice(-steps.length))
    expect(start).toBe(`from ${Number(expected[expected.length - steps.length]!.split(' ')[1]) - 1}`)
  }
  expect(together).toBeGreaterThan(50)
}, 60_000)
