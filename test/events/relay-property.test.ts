import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { JobUpdateBatch } from '../../src/events/job-update.ts'
import { createRelay, type Relay } from '../../src/events/relay.ts'
import type { Stream } from '../../src/events/stream.ts'
import type { ViewScope } from '../../src/events/watch-jobs.ts'
import { jobEventsOf, type JournalRow } from '../../src/jobs/job-event.ts'
import { journalRowColumns } from '../../src/sql/journal-columns.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { seededRandom, type Random } from '../support/random.ts'
import { claimJob, discardJob, enqueueChore, failJob, finishJob, registerChore, type TestClaim } from './job-moves.ts'
import { namesOf, pullUntil } from './stream-reading.ts'

const writers = 6
const rounds = 60
/** STELLWERK_RELAY_CURSORS=Infinity resumes at every cursor that anybody ever got (1 minute), else at so many of them. */
const mostCursors = Number(process.env.STELLWERK_RELAY_CURSORS ?? 200)

let database: TestDatabase
const pools: pg.Pool[] = []
const relays: Relay[] = []
/** How many looks at the journal each relay has begun. */
const looks: number[] = []
const wakers = new Set<(kinds: null) => void>()
const random = seededRandom()

beforeAll(async () => {
  database = await testDatabase()
  await registerChore(database.pool)
  for (let instance = 0; instance < 3; instance += 1) {
    const pool = new pg.Pool({ connectionString: database.url, options: '-c TimeZone=UTC', max: 4 })
    pool.on('error', () => {})
    pools.push(pool)
    looks.push(0)
    const db: Queryable = {
      query(config) {
        if (config.name === 'read_journal_tail') looks[instance]! += 1
        return pool.query(config)
      },
    }
    relays.push(
      createRelay({
        db,
        wakeup: { on: (_, hear) => (wakers.add(hear), () => wakers.delete(hear)), onProgress: () => () => undefined },
        pollMs: 25,
      }),
    )
  }
})
afterAll(async () => {
  await Promise.all(relays.map((relay) => relay.stop()))
  await Promise.all(pools.map((pool) => pool.end()))
  await database.drop()
})

const everything: ViewScope = { name: 'all', sees: () => true }
let opened = 0

/** Every other one goes on with the reading that those alike share. */
const open = (relay: Relay, after: string | null): Stream<JobUpdateBatch> =>
  relay.watchJobs({
    filter: {},
    after,
    windowMs: 0,
    conflate: false,
    progress: false,
    sees: () => true,
    ...((opened += 1) % 2 === 0 ? { scope: () => everything } : {}),
  })

test(`every committed event is told exactly once, in order per job, whoever commits late (SEED=${random.seed})`, async () => {
  const unrelated = new pg.Client({ connectionString: database.url })
  await unrelated.connect()
  await unrelated.query(`begin; insert into mdm.aa_tenant (tenant_key, name) values ('slow', 'Slow')`)

  const start = await relays[0]!.streamCursor()
  const committed = new Map<string, Moment>()
  let lastJob = 'not there yet'
  const isEnd = (name: string): boolean => name.startsWith(lastJob)
  const watched = relays.map((relay) => watch(open(relay, start), isEnd))
  const cut = Array.from({ length: 4 }, () => watchInPieces(start, isEnd))

  await Promise.all(Array.from({ length: writers }, (_, i) => write(seededRandom(random.seed + i + 1), committed)))
  lastJob = await enqueueChore(database.pool)
  // Who had it already when the name became known is told of another step of it.
  await claimJob(database.pool, lastJob)
  const live = await Promise.all(watched)
  const pieces = await Promise.all(cut)
  await unrelated.query('rollback')
  await unrelated.end()

  const truth = await everyEvent(lastJob)
  const why = `SEED=${random.seed}`
  expect(truth.size, why).toBeGreaterThan(300)
  for (const { names } of [...live, ...pieces]) {
    expect(doubles(names), why).toEqual([])
    expect(outOfOrder(names), why).toEqual([])
    expect(
      [...truth].filter((name) => !names.includes(name)),
      why,
    ).toEqual([])
    expect(
      names.filter((name) => !truth.has(name) && !name.startsWith(lastJob)),
      why,
    ).toEqual([])
  }

  // The cursors that anybody ever got, those of the end apart.
  const cursors = [...live, ...pieces]
    .flatMap((each) => each.cursors.map(({ cursor, count }) => ({ cursor, had: new Set(each.names.slice(0, count)) })))
    .filter(({ had }) => !had.values().some((name) => name.startsWith(lastJob)))
  const waiting = chosen(cursors, mostCursors).values()
  const tryAll = async (): Promise<void> => {
    for (const { cursor, had } of waiting) {
      const names = await resumeToTheEnd(cursor, lastJob)
      const again = new Set(names)
      const about = `${why}, after ${cursor}`
      expect(
        [...truth].filter((name) => !had.has(name) && !again.has(name)),
        about,
      ).toEqual([])
      expect(
        names.filter((name) => had.has(name)),
        about,
      ).toEqual([])
      expect(again.size, about).toBe(names.length)
      expect(outOfOrder(names), about).toEqual([])
    }
  }
  await Promise.all(Array.from({ length: 8 }, tryAll))
  expect(cursors.length, why).toBeGreaterThan(300)

  // A clock tells more of the machine than of the relay, so looks are counted: once a stream has begun to tell, an event
  // comes with the first one that begins after its commit; the next may have begun when it arrives.
  const waits = live.flatMap(({ at }, instance) => {
    const begun = Math.min(...at.values().map(({ ms }) => ms))
    return [...at].flatMap(([name, told]) => {
      const before = committed.get(name)
      if (before === undefined || before.ms < begun) return []
      return [{ ms: told.ms - before.ms, looks: told.looks[instance]! - before.looks[instance]! }]
    })
  })
  const latencies = waits.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const [p50, p99, max] = [0.5, 0.99, 1].map(
    (part) => latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))]!,
  )
  const atOnce = waits.filter((each) => each.looks <= 2).length / waits.length
  process.stdout.write(
    `told after commit: p50 ${p50!.toFixed(1)}, p99 ${p99!.toFixed(1)}, max ${max!.toFixed(1)} ms; within two looks ${(atOnce * 100).toFixed(1)} %; ${truth.size} events, ${cursors.length} cursors\n`,
  )
  expect(atOnce, why).toBeGreaterThan(0.99)
  expect(p50, why).toBeLessThan(200)
}, 240_000)

/** When something happened, and how many looks at the journal had begun by then. */
interface Moment {
  readonly ms: number
  readonly looks: readonly number[]
}

const momentOf = (): Moment => ({ ms: performance.now(), looks: [...looks] })

function chosen<Item>(items: readonly Item[], most: number): readonly Item[] {
  const left = [...items]
  while (left.length > most) left.splice(random.below(left.length), 1)
  return left
}

interface Watched {
  readonly names: string[]
  readonly at: ReadonlyMap<string, Moment>
  /** And how many of the names had come by then. */
  readonly cursors: { readonly cursor: string; readonly count: number }[]
}

async function watch(stream: Stream<JobUpdateBatch>, isLast: (name: string) => boolean): Promise<Watched> {
  const names: string[] = []
  const at = new Map<string, Moment>()
  const cursors: Watched['cursors'] = []
  await pullUntil(stream, isLast, (batch) => {
    expect(batch.resync).toBe(false)
    for (const name of namesOf(batch)) {
      names.push(name)
      at.set(name, momentOf())
    }
    cursors.push({ cursor: batch.cursor, count: names.length })
  })
  await stream.return()
  return { names, at, cursors }
}

/** Comes and goes: a few batches from one instance, on from there with another. */
async function watchInPieces(
  start: string,
  isLast: (name: string) => boolean,
): Promise<Pick<Watched, 'names' | 'cursors'>> {
  const names: string[] = []
  const cursors: Watched['cursors'] = []
  let after = start
  for (;;) {
    const stream = open(random.pick(relays), after)
    for (let pulls = 1 + random.below(4); pulls > 0; pulls -= 1) {
      const { value } = await stream.next()
      names.push(...namesOf(value!))
      after = value!.cursor
      cursors.push({ cursor: after, count: names.length })
      if (namesOf(value!).some(isLast)) {
        await stream.return()
        return { names, cursors }
      }
    }
    await stream.return()
  }
}

/** Everything after the cursor: what comes after it joined the others is told last, so a job that is made then ends it. */
async function resumeToTheEnd(cursor: string, lastJob: string): Promise<string[]> {
  const names: string[] = []
  const stream = open(random.pick(relays), cursor)
  const note = (batch: JobUpdateBatch): void => void names.push(...namesOf(batch))
  await pullUntil(stream, (name) => name.startsWith(lastJob), note)
  const marker = await enqueueChore(database.pool)
  for (const wake of wakers) wake(null)
  await pullUntil(stream, (name) => name.startsWith(marker), note)
  await stream.return()
  return names
}

/** Moves jobs in transactions that take their time, and sometimes roll back. */
async function write(chance: Random, committed: Map<string, Moment>): Promise<void> {
  const client = new pg.Client({ connectionString: database.url, options: '-c TimeZone=UTC' })
  await client.connect()
  let pending: string[] = []
  let running: TestClaim[] = []
  for (let round = 0; round < rounds; round += 1) {
    const before = { pending: [...pending], running: [...running] }
    await client.query('begin')
    for (let moves = 1 + chance.below(3); moves > 0; moves -= 1) {
      const move = chance.next()
      if (move < 0.35 || pending.length + running.length === 0) pending.push(await enqueueChore(client))
      else if (move < 0.65 && pending.length > 0)
        running.push(await claimJob(client, pending.splice(chance.below(pending.length), 1)[0]!))
      else if (move < 0.7 && pending.length > 0)
        await discardJob(client, pending.splice(chance.below(pending.length), 1)[0]!)
      else if (running.length > 0) {
        const [claim] = running.splice(chance.below(running.length), 1)
        if (chance.next() < 0.5) await finishJob(client, claim!)
        else {
          await failJob(client, claim!)
          pending.push(claim!.jobId)
        }
      }
    }
    await wait(chance.next() < 0.05 ? chance.below(1_000) : chance.below(30))
    if (chance.next() < 0.1) {
      await client.query('rollback')
      pending = before.pending
      running = before.running
      continue
    }
    const { rows } = await client.query<{ name: string }>(
      `select job_id || ':' || revision || ':' as name from mdm.aa_audit_log where xmin = pg_current_xact_id()::xid`,
    )
    await client.query('commit')
    const now = momentOf()
    for (const { name } of rows)
      for (const type of ['ENQUEUED', 'SUCCEEDED', 'RETRY_SCHEDULED', 'DISCARDED']) committed.set(name + type, now)
    if (chance.next() < 0.5) for (const wake of wakers) wake(null)
  }
  await client.end()
}

/** What the journal and the running jobs say has happened. */
async function everyEvent(lastJob: string): Promise<Set<string>> {
  const rows = await database.sql<JournalRow & pg.QueryResultRow>(
    `select ${journalRowColumns} from mdm.aa_audit_log a where job_id <> $1 order by id`,
    [lastJob],
  )
  const running = await database.sql<{ id: string; claim_revision: number }>(
    `select id, claim_revision from mdm.aa_job where status = 'running' and id <> $1`,
    [lastJob],
  )
  return new Set([
    ...rows.flatMap(jobEventsOf).map(({ jobId, revision, type }) => `${jobId}:${revision}:${type}`),
    ...running.map(({ id, claim_revision }) => `${id}:${claim_revision}:CLAIMED`),
  ])
}

function doubles(names: readonly string[]): string[] {
  return names.filter((name, i) => names.indexOf(name) !== i)
}

function outOfOrder(names: readonly string[]): string[] {
  const last = new Map<string, number>()
  return names.filter((name) => {
    const [jobId, revision] = name.split(':')
    const isLate = Number(revision) <= (last.get(jobId!) ?? -1)
    last.set(jobId!, Number(revision))
    return isLate
  })
}
