import { afterEach, expect, test } from 'vitest'
import type { JobUpdateBatch } from '../../src/events/job-update.ts'
import type { Crowd, Stream } from '../../src/events/stream.ts'
import type { ViewScope } from '../../src/events/watch-jobs.ts'
import { seededRandom, type Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import { claimJob, enqueueChore, finishJob } from './job-moves.ts'
import { relayFixture, type TestRelay } from './relay-fixture.ts'
import { namesOf, namesUntil, pullUntil } from './stream-reading.ts'

const { database, newRelay } = relayFixture()
const random = seededRandom()
const everything: ViewScope = { name: 'all', sees: () => true }
const scope = (): ViewScope => everything
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

async function enqueueMany(count: number): Promise<string[]> {
  const rows = await database().sql<{ job_id: string }>(
    `select job_id from mdm.enqueue_jobs((select jsonb_agg('{"kind": "chore", "payload": {}}'::jsonb) from generate_series(1, $1)), false)`,
    [count],
  )
  return rows.map(({ job_id }) => `${job_id}:1:ENQUEUED`)
}

const batchOf = async (stream: Stream<JobUpdateBatch>): Promise<JobUpdateBatch> => (await stream.next()).value!

/** Causes events until one of them comes to all as the same object, and to the others as another: who was behind joins when there is peace. */
async function untilSame(
  streams: readonly Stream<JobUpdateBatch>[],
  others: readonly Stream<JobUpdateBatch>[],
  wake: () => void,
): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const next = [...streams, ...others].map(batchOf)
    const [name] = await enqueueMany(1)
    wake()
    const batches = await Promise.all(next)
    expect(batches.every((batch) => namesOf(batch)[0] === name)).toBe(true)
    expect(new Set(batches).size).toBeGreaterThan(others.length)
    if (new Set(batches.slice(0, streams.length)).size === 1) return
  }
  throw new Error('They were never told with the same object.')
}

test('streams that are alike are told with the same objects, wherever they began', async () => {
  const { relay, ofJobs, wake } = take()
  const after = await relay.streamCursor()
  const [first] = await enqueueMany(1)
  const streams = Array.from({ length: 10 }, (_, i) => ofJobs({ scope, after: i % 2 === 0 ? after : null }))
  const others = [
    ofJobs({ scope, conflate: true }),
    ofJobs({ scope: () => ({ name: 't', sees: () => true }) }),
    ofJobs(),
  ]
  expect(relay.openStreams()).toBe(13)
  const behind = streams.filter((_, i) => i % 2 === 0)
  for (const stream of behind) expect(namesOf(await batchOf(stream))).toEqual([first])
  await untilSame(streams, others, wake)
  for (const stream of [...streams, ...others]) await stream.return()
})

test('who has had more than the shared reading knows of is told nothing twice', async () => {
  const [ahead, behind] = [take(), take(60_000)]
  const jobId = await enqueueChore(database().pool)
  const quiet = behind.ofJobs({ scope })
  const quietNext = quiet.next()
  await until(() => behind.statements.includes('read_journal_tail'), 'the one behind has looked')
  const stream = ahead.ofJobs({ scope, after: await ahead.relay.streamCursor() })
  const claim = await claimJob(database().pool, jobId)
  ahead.wake()
  const told = await batchOf(stream)
  expect(namesOf(told)).toEqual([`${jobId}:2:CLAIMED`])
  await stream.return()

  const resumed = behind.ofJobs({ scope, after: told.cursor })
  const next = resumed.next()
  await finishJob(database().pool, claim)
  behind.wake()
  expect(namesOf((await next).value!)).toEqual([`${jobId}:3:SUCCEEDED`])
  expect(namesOf((await quietNext).value!)[0]).toBe(`${jobId}:2:CLAIMED`)
  await Promise.all([resumed.return(), quiet.return()])
})

test('a slow one leaves the shared reading, catches up by itself and comes back', async () => {
  const { relay, ofJobs, wake } = take()
  const after = await relay.streamCursor()
  const [slow, quick] = [ofJobs({ scope, after }), ofJobs({ scope, after })]
  const [first] = await enqueueMany(1)
  wake()
  expect(namesOf(await batchOf(slow))).toEqual([first])
  expect(namesOf(await batchOf(quick))).toEqual([first])
  const expected: string[] = []
  for (let i = 0; i < 8; i += 1) {
    expected.push(...(await enqueueMany(1_000)))
    wake()
    const last = expected.at(-1)!
    await namesUntil(quick, (name) => name === last)
  }
  expect(await namesUntil(slow, (name) => name === expected.at(-1))).toEqual(expected)
  await untilSame([slow, quick], [], wake)

  let last = ''
  for (let i = 0; i < 11; i += 1) {
    last = (await enqueueMany(1_000)).at(-1)!
    wake()
    const end = last
    await namesUntil(quick, (name) => name === end)
  }
  expect(await batchOf(slow)).toMatchObject({ resync: true, updates: [] })
  await Promise.all([slow.return(), quick.return()])
})

test('200 that come back while much happens go on with the shared reading where they stood: for them nothing is read, and nothing made', async () => {
  const { relay, ofJobs, wake, statements } = take()
  const steady = ofJobs({ scope, after: await relay.streamCursor() })
  const other = ofJobs({ scope })
  const otherNext = other.next()
  const made: JobUpdateBatch[] = []
  const expected: string[] = []
  const more = async (): Promise<void> => {
    const names = await enqueueMany(1 + random.below(20))
    expected.push(...names)
    wake()
    await pullUntil(
      steady,
      (name) => name === names.at(-1),
      (batch) => made.push(batch),
    )
  }
  while (made.length < 20) await more()
  const before = statements.length
  const readers = Array.from({ length: 200 }, () => {
    const from = random.pick(made.slice(-10))
    return { from, told: [] as JobUpdateBatch[], stream: ofJobs({ scope, after: from.cursor }) }
  })
  // It goes on meanwhile: at no moment has everything been told.
  for (let round = 0; round < 5; round += 1) await more()
  const last = expected.at(-1)!
  await Promise.all(
    readers.map(({ stream, told }) =>
      pullUntil(
        stream,
        (name) => name === last,
        (batch) => told.push(batch),
      ),
    ),
  )
  for (const { from, told } of readers) {
    const place = made.indexOf(from)
    expect(told.length).toBe(made.length - place - 1)
    expect(told.every((batch, i) => batch === made[place + 1 + i])).toBe(true)
  }
  expect(new Set(statements.slice(before))).toEqual(new Set(['read_journal_tail', 'read_jobs']))
  for (const { stream } of readers) await stream.return()
  await Promise.all([steady.return(), other.return(), otherNext])
})

test('who may see something else from now on is told nothing else of what it may not', async () => {
  const { relay, ofJobs, wake } = take()
  const after = await relay.streamCursor()
  await database().sql(`insert into mdm.aa_tenant (tenant_key, name) values ('theirs', 'T') on conflict do nothing`)
  const [{ id: own }] = (await database().sql<{ id: string }>(
    `select id from mdm.aa_tenant where tenant_key = 'default'`,
  )) as [{ id: string }]
  let present: ViewScope = everything
  const stream = ofJobs({ after, scope: () => present, sees: (tenantId) => present.sees(tenantId) })
  const other = ofJobs({ scope, after })
  const theirs = await enqueueChore(database().pool, { tenant: 'theirs' })
  wake()
  expect(namesOf(await batchOf(stream))).toEqual([`${theirs}:1:ENQUEUED`])
  present = { name: own, sees: (tenantId) => tenantId === own }
  await enqueueChore(database().pool, { tenant: 'theirs' })
  const mine = await enqueueChore(database().pool)
  wake()
  await namesUntil(other, (name) => name.startsWith(mine))
  expect(namesOf(await batchOf(stream))).toEqual([`${mine}:1:ENQUEUED`])
  await Promise.all([stream.return(), other.return()])
})

/** Told together; some drop out before an item, some with it. */
function moodyCrowd(name: string, chance: Random): Crowd<JobUpdateBatch> {
  return {
    name,
    hear(batch, hearers, ended) {
      for (const hearer of hearers) {
        if (chance.next() < 0.1) {
          ended(hearer, false)
          hearer.wake()
        } else if (!hearer.hear(batch, false)) ended(hearer, true)
      }
    },
  }
}

test(`streams that come, go, listen, dawdle and resume are told everything once (SEED=${random.seed})`, async () => {
  const relays = [take(), take()]
  const start = await relays[0]!.relay.streamCursor()
  const expected: string[] = []
  let isDone = false
  let heard = 0
  const told: string[][] = []
  const follow = async (seed: number): Promise<string[]> => {
    const chance = seededRandom(seed)
    const names: string[] = []
    told.push(names)
    let after = start
    const note = (batch: JobUpdateBatch): void => {
      names.push(...namesOf(batch))
      after = batch.cursor
    }
    const hasAll = (): boolean => isDone && names.length >= expected.length
    /** To some batches, alone or in a crowd. */
    const listen = (stream: Stream<JobUpdateBatch>, chance: Random): Promise<void> =>
      new Promise((resolve) => {
        let left = 1 + chance.below(5)
        const hear = (batch: JobUpdateBatch): boolean => {
          note(batch)
          left -= 1
          const goesOn = left > 0 && !hasAll()
          if (!goesOn) resolve()
          return goesOn
        }
        const crowd = chance.next() < 0.7 ? moodyCrowd(chance.pick(['a', 'b']), chance) : undefined
        if (stream.listen({ hear, wake: resolve, crowd })) heard += 1
        else resolve()
      })
    for (;;) {
      const stream = chance.pick(relays).ofJobs({ scope, after, windowMs: chance.pick([0, 10]) })
      for (let pulls = chance.below(20); pulls >= 0; pulls -= 1) {
        if (chance.next() < 0.5) await listen(stream, chance)
        else note(stream.ready() ?? (await batchOf(stream)))
        if (chance.next() < 0.1) await database().sql('select pg_sleep(0.02)')
        if (hasAll()) {
          await stream.return()
          return names
        }
      }
      await stream.return()
    }
  }
  const followers = Array.from({ length: 12 }, (_, i) => follow(random.seed + i))
  for (let round = 0; round < 150; round += 1) {
    expected.push(...(await enqueueMany(1 + random.below(30))))
    for (const { wake } of relays) if (random.next() < 0.5) wake()
    // Only who was told everything can listen.
    if (round % 10 === 9)
      await until(() => told.every((names) => names.length >= expected.length), 'all were told everything so far')
  }
  isDone = true
  // Who had everything already is told that it is done.
  await enqueueMany(1)
  for (const names of await Promise.all(followers)) expect(names.slice(0, expected.length)).toEqual(expected)
  expect(heard).toBeGreaterThan(50)
}, 60_000)
