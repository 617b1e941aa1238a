import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { inTransaction } from '../../src/db/transaction.ts'
import { NeverRetry, RetryLater, Snooze } from '../../src/jobs/errors.ts'
import { recoverStaleJobs } from '../../src/sql/recover-stale-jobs.ts'
import { requestStop } from '../../src/sql/request-stop.ts'
import { defineKind, type KindDefinition, type OwnKind } from '../../src/workers/define-kind.ts'
import { journalOf, storedJob } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

let database: TestDatabase
const engines: TestEngine[] = []

beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((each) => each.stop(0)))
  await database.drop()
})

const start = async (kinds: readonly OwnKind[], given: Parameters<typeof startEngine>[2] = {}): Promise<TestEngine> => {
  const engine = await startEngine(database, kinds, given)
  engines.push(engine)
  return engine
}

const anything = z.looseObject({})

const kind = (
  name: string,
  run: KindDefinition<typeof anything>['run'],
  given: Partial<KindDefinition<typeof anything>> = {},
): OwnKind => defineKind({ name, payload: anything, run, ...given })

async function enqueue(name: string, count = 1, given: { tenant?: string; payload?: object } = {}): Promise<string[]> {
  const rows = await database.sql<{ job_id: string }>(
    `select e.job_id from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', $1::text, 'payload', $2::jsonb, 'tenant', $3::text)) from generate_series(1, $4))) e`,
    [name, given.payload ?? {}, given.tenant ?? 'default', count],
  )
  return rows.map((row) => row.job_id)
}

const job = async (id: string) => (await storedJob(database, id))!
const counts = async (): Promise<Record<string, number>> => {
  const rows = await database.sql<{ status: string; jobs: number }>(
    'select status::text, count(*)::int as jobs from mdm.aa_job group by status',
  )
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]))
}
const reached = (status: string, count = 1, withinMs?: number) =>
  until(async () => ((await counts())[status] ?? 0) >= count, `${count} jobs are ${status}`, withinMs)
const becomes = (id: string, status: string) =>
  until(async () => (await job(id)).status === status, `the job is ${status}`)
const actions = async (id: string) => (await journalOf(database, id)).map(({ action }) => action)
const claimRows = async () => (await database.sql('select from mdm.aa_claim')).length

test('a handler that becomes slow keeps no jobs waiting: what was claimed ahead goes back, and others take it', async () => {
  let calls = 0
  const release = Promise.withResolvers<void>()
  const turning = kind('turning', async () => {
    calls += 1
    // Quick enough for a buffer at first; then each run lasts until the end of the test.
    if (calls > 200) await release.promise
  })
  const steady = kind('turning', async () => {})
  const slow = await start([turning], { slots: 1, pollMs: 60_000 })
  await enqueue('turning', 1_000)
  await until(() => calls > 200, 'the handler has become slow')
  await start([steady], { slots: 1, pollMs: 60_000 })
  // All but the one at work, although the first has no reason to look again.
  await reached('done', 999)
  expect(slow.told).toContainEqual(
    expect.objectContaining({
      type: 'jobs:ended',
      ends: expect.arrayContaining([expect.objectContaining({ outcome: 'released' })]),
    }),
  )
  expect(await counts()).toEqual({ done: 999, running: 1 })
  expect(await database.sql(`select distinct attempts from mdm.aa_job`)).toEqual([{ attempts: 1 }])
  release.resolve()
  await reached('done', 1_000)
})

test('one that becomes slower keeps of what was claimed ahead what it will soon start', async () => {
  let calls = 0
  const turning = kind('turning', async () => {
    calls += 1
    if (calls > 200) await delay(30)
  })
  const slow = await start([turning], { slots: 1, pollMs: 60_000 })
  await enqueue('turning', 1_000)
  await until(() => calls > 200, 'the handler has become slow')
  await start([kind('turning', async () => {})], { slots: 1, pollMs: 60_000 })
  await reached('done', 1_000)
  // Eight start in a quarter of a second; all that it had claimed would be 800.
  expect(calls).toBeLessThan(400)
  const released = slow.told.flatMap((event) =>
    event.type === 'jobs:ended' ? event.ends.filter(({ outcome }) => outcome === 'released') : [],
  )
  expect(released.length).toBeGreaterThan(0)
})

test('claiming that paused because the database was behind goes on as soon as it has caught up', async () => {
  const held = await database.pool.connect()
  await start([kind('quick', async () => {})], { pollMs: 60_000 })
  try {
    await held.query('begin')
    await enqueue('quick', 9_000)
    // Ends cannot be written while the journal is locked; claims write none.
    await held.query('lock table mdm.aa_audit_log in share mode')
    let seen = 0
    await until(async () => {
      const before = seen
      seen = (await counts())['running'] ?? 0
      return seen > 5_000 && seen === before
    }, 'more has run than may wait for its commit, and claiming has paused')
    await held.query('commit')
    await reached('done', 9_000, 8_000)
    expect(await counts()).toEqual({ done: 9_000 })
  } finally {
    held.release()
  }
})

test('a drain of mixed outcomes with four slots: each job is where its handler sent it', async () => {
  const running = new Set<string>()
  let most = 0
  const settings = { defaults: { maxAttempts: 2, backoff: { baseMs: 1, maxMs: 1, jitter: 0 } } }
  const handled = (name: string, run: KindDefinition<typeof anything>['run']) =>
    kind(
      name,
      async (context) => {
        running.add(context.job.id)
        most = Math.max(most, running.size)
        try {
          await new Promise((resolve) => setImmediate(resolve))
          return await run(context)
        } finally {
          running.delete(context.job.id)
        }
      },
      settings,
    )
  const { told } = await start([
    handled('fine', async () => undefined),
    handled('broken', async () => {
      throw new TypeError('no way')
    }),
    handled('hopeless', async () => {
      throw new NeverRetry('the address does not exist')
    }),
    handled('second_try', async ({ job: facts }) => {
      if (facts.attempts === 1) throw new Error('not yet')
    }),
  ])
  await Promise.all(['fine', 'broken', 'hopeless', 'second_try'].map((name) => enqueue(name, 100)))
  await reached('done', 200, 20_000)
  await reached('dlq', 200, 20_000)
  await until(async () => (await claimRows()) === 0, 'no claim is left')
  expect(await counts()).toEqual({ done: 200, dlq: 200 })
  expect(most).toBeLessThanOrEqual(4)
  const kinds = await database.sql(
    `select job_kind as kind, min(attempts) as least, max(attempts) as most, min(last_error) as error, count(lease)::int as leases
       from mdm.aa_job group by job_kind order by job_kind`,
  )
  expect(kinds).toEqual([
    { kind: 'broken', least: 2, most: 2, error: 'TypeError: no way', leases: 0 },
    { kind: 'fine', least: 1, most: 1, error: null, leases: 0 },
    { kind: 'hopeless', least: 1, most: 1, error: expect.stringContaining('the address does not exist'), leases: 0 },
    { kind: 'second_try', least: 2, most: 2, error: null, leases: 0 },
  ])
  // Claims and rows together number the changes without a gap.
  const gaps = await database.sql(
    `select j.id from mdm.aa_job j where j.revision <> (select count(*) from mdm.aa_audit_log a where a.job_id = j.id) + j.runs`,
  )
  expect(gaps).toEqual([])
  const outcomes = told.flatMap((event) =>
    event.type === 'jobs:ended' ? event.ends.map(({ outcome }) => outcome) : [],
  )
  expect(outcomes.filter((outcome) => outcome === 'success')).toHaveLength(200)
  expect(outcomes.filter((outcome) => outcome === 'retry')).toHaveLength(200)
  expect(outcomes.filter((outcome) => outcome === 'dlq')).toHaveLength(200)
})

test('a handler in plain JavaScript may return nothing, or throw at once; the slot serves on', async () => {
  const abrupt = (() => {
    throw new NeverRetry('thrown at once')
  }) as unknown as () => Promise<void>
  const plain = (() => undefined) as unknown as () => Promise<void>
  await start([kind('abrupt', abrupt), kind('plain', plain)])
  await enqueue('abrupt', 10)
  await enqueue('plain', 10)
  await reached('dlq', 10)
  await reached('done', 10)
  expect(await counts()).toEqual({ done: 10, dlq: 10 })
})

test('RetryLater waits the longer of its time and the backoff; Snooze gives the attempt back', async () => {
  let snoozes = 0
  await start([
    kind('later', async () => {
      throw new RetryLater(3_600_000, new Error('busy'))
    }),
    kind('at_once', async () => {
      throw new RetryLater(1)
    }),
    kind('drowsy', async () => {
      snoozes += 1
      if (snoozes < 3) throw new Snooze(0)
    }),
  ])
  const [later] = await enqueue('later')
  const [atOnce] = await enqueue('at_once')
  const [drowsy] = await enqueue('drowsy')
  await becomes(drowsy!, 'done')
  await until(async () => (await job(later!)).deferred && (await job(atOnce!)).deferred, 'both wait')
  const waits = await database.sql<{ id: string; seconds: number }>(
    `select id, date_part('epoch', available_at - now()) as seconds from mdm.aa_job where lane = 1`,
  )
  const secondsOf = (id: string) => waits.find((row) => row.id === id)!.seconds
  expect(secondsOf(later!)).toBeGreaterThan(3_500)
  expect(secondsOf(atOnce!)).toBeGreaterThan(25)
  expect(secondsOf(atOnce!)).toBeLessThanOrEqual(33)
  expect((await job(later!)).last_error).toBe('Error: busy')
  expect(await job(drowsy!)).toMatchObject({ attempts: 1, runs: 3 })
  expect(await actions(drowsy!)).toEqual(['job_enqueued', 'job_released', 'job_released', 'job_done'])
})

test('F13: timeout, abort, grace, the claim given up, the slot replaced; a late end changes nothing', async () => {
  const late = Promise.withResolvers<void>()
  let aborted = false
  const { told, engine } = await start(
    [
      kind(
        'deaf',
        async ({ signal }) => {
          signal.addEventListener('abort', () => (aborted = true))
          await late.promise
        },
        { defaults: { timeoutMs: 50, maxAttempts: 1 } },
      ),
      kind('next', async () => undefined),
    ],
    { slots: 1, abortGraceMs: 50, abandonMs: 300 },
  )
  const [deaf] = await enqueue('deaf')
  await until(() => aborted, 'the signal fired')
  await becomes(deaf!, 'dlq')
  expect((await job(deaf!)).last_error).toContain('ignored its abort')
  // The slot stays charged for a while, and is replaced then.
  const [next] = await enqueue('next')
  await becomes(next!, 'done')
  const order = told.flatMap((event) =>
    event.type === 'handler:abandoned' || event.type === 'jobs:claimed' ? [event.type] : [],
  )
  expect(order).toEqual(['jobs:claimed', 'handler:abandoned', 'jobs:claimed'])
  expect(told.filter((event) => event.type === 'handler:abandoned')).toMatchObject([{ jobId: deaf, kind: 'deaf' }])
  expect(engine.abandoned()).toBe(1)
  expect(engine.unfit()).toHaveLength(1)
  const before = await job(deaf!)
  late.resolve()
  await until(() => engine.abandoned() === 0, 'the handler came back')
  expect(await job(deaf!)).toEqual(before)
  expect(engine.unfit()).toEqual([])
})

test('a timeout that the handler obeys is a failure like any other', async () => {
  await start([
    kind(
      'obedient',
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      { defaults: { timeoutMs: 30, maxAttempts: 1 } },
    ),
  ])
  const [id] = await enqueue('obedient')
  await becomes(id!, 'dlq')
  expect((await job(id!)).last_error).toContain('ran longer than 30 ms')
})

test('a stop reaches the running handler, and the job is failed with its reason', async () => {
  let started = false
  const { wakeup, pools } = await start([
    kind('long', ({ signal }) => {
      started = true
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }),
  ])
  const [id] = await enqueue('long')
  await until(() => started, 'the handler runs')
  await requestStop(pools.api, id!, null, null, 'user:ada', 'broken for good', 'r')
  wakeup.signal('control')
  await becomes(id!, 'failed')
  expect(await job(id!)).toMatchObject({ last_error: 'broken for good', stop_requested_by: 'user:ada' })
  expect(await actions(id!)).toEqual(['job_enqueued', 'job_stop_requested', 'job_stop'])
})

describe('commit(tx)', () => {
  beforeEach(() => database.sql('create table written (job_id uuid)'))
  const write = kind('writes', async ({ job: facts }) => ({
    result: { ok: true },
    commit: async (tx) => {
      await tx.query('insert into written values ($1)', [facts.id])
      await tx.enqueue({ kind: 'follows', payload: { after: facts.id } })
    },
  }))

  test('is one transaction with done, and what it enqueues runs', async () => {
    await start([write, kind('follows', async () => undefined)])
    const ids = await enqueue('writes', 5)
    await reached('done', 10)
    expect(
      await database.sql('select count(*)::int as rows, count(distinct job_id)::int as jobs from written'),
    ).toEqual([{ rows: 5, jobs: 5 }])
    expect(await job(ids[0]!)).toMatchObject({ result: { ok: true } })
    const apart = await database.sql(
      `select from written w join mdm.aa_job j on j.id = w.job_id where j.xmin <> w.xmin`,
    )
    expect(apart).toEqual([])
  })

  test('that throws is a failure, and writes nothing', async () => {
    await start([
      kind(
        'fails',
        async ({ job: facts }) => ({
          commit: async (tx) => {
            await tx.query('insert into written values ($1)', [facts.id])
            throw new NeverRetry('refused by the rules')
          },
        }),
        { defaults: { maxAttempts: 5 } },
      ),
      kind(
        'violates',
        async () => ({ commit: async (tx) => void (await tx.query('insert into written values (1/0)')) }),
        {
          defaults: { maxAttempts: 1 },
        },
      ),
    ])
    const [fails] = await enqueue('fails')
    const [violates] = await enqueue('violates')
    await becomes(fails!, 'dlq')
    await becomes(violates!, 'dlq')
    expect(await job(fails!)).toMatchObject({
      attempts: 1,
      last_error: expect.stringContaining('refused by the rules'),
    })
    expect(await database.sql('select from written')).toEqual([])
    expect(await actions(fails!)).toEqual(['job_enqueued', 'job_dlq'])
  })

  test('F02: after the claim was lost it writes nothing, and nothing is told', async () => {
    const gate = Promise.withResolvers<void>()
    let started = 0
    const { told } = await start([
      kind('slow', async ({ job: facts }) => {
        started += 1
        if (started === 1) await gate.promise
        return { commit: async (tx) => void (await tx.query('insert into written values ($1)', [facts.id])) }
      }),
    ])
    const [id] = await enqueue('slow')
    await until(() => started === 1, 'the first run is under way')
    // Recovered by hand and claimed again while the first run goes on.
    await database.sql(`update mdm.aa_job set status = 'pending', claimed_by = null where id = $1`, [id])
    await database.sql(`select pg_notify('mdm_wakeup', '')`)
    await becomes(id!, 'done')
    const before = await job(id!)
    gate.resolve()
    await until(
      () => told.some((event) => event.type === 'lease:lost' && event.jobIds.includes(id!)),
      'the loss is noticed',
    )
    expect(await job(id!)).toEqual(before)
    expect(await database.sql('select from written')).toHaveLength(1)
  })
})

describe('transaction(work) in the middle of a run', () => {
  beforeEach(() => database.sql('create table written (job_id uuid)'))

  test('commits on its own, and what it enqueues runs although the run fails', async () => {
    await start([
      kind('slices', async ({ job: facts, transaction }) => {
        const answer = await transaction(async (tx) => {
          await tx.query('insert into written values ($1)', [facts.id])
          await tx.enqueue({ kind: 'follows', payload: {} })
          return 'kept'
        })
        throw new NeverRetry(`after ${answer}`)
      }),
      kind('follows', async () => undefined),
    ])
    const [id] = await enqueue('slices')
    await becomes(id!, 'dlq')
    await reached('done', 1)
    expect(await database.sql('select from written')).toHaveLength(1)
    expect(await job(id!)).toMatchObject({ last_error: expect.stringContaining('after kept') })
  })

  test('F02: writes nothing once the claim was taken back', async () => {
    const gate = Promise.withResolvers<void>()
    const caught = Promise.withResolvers<unknown>()
    let started = 0
    await start([
      kind('slow', async ({ job: facts, transaction }) => {
        started += 1
        if (started > 1) return
        await gate.promise
        await transaction((tx) => tx.query('insert into written values ($1)', [facts.id])).catch(caught.resolve)
      }),
    ])
    const [id] = await enqueue('slow')
    await until(() => started === 1, 'the first run is under way')
    await database.sql(`update mdm.aa_job set status = 'pending', claimed_by = null where id = $1`, [id])
    await database.sql(`select pg_notify('mdm_wakeup', '')`)
    await becomes(id!, 'done')
    gate.resolve()
    expect(await caught.promise).toMatchObject({ code: 'LEASE_LOST' })
    expect(await database.sql('select from written')).toEqual([])
  })
})

test('a result is kept; one that is too large or cannot be stored is left out', async () => {
  await start([
    kind('result', async ({ payload }) => ({
      result: payload.size === undefined ? (payload.result as unknown) : 'x'.repeat(payload.size as number),
    })),
  ])
  const expected: [object, unknown][] = [
    [{ result: { width: 1.5, name: 'ä𝄞' } }, { width: 1.5, name: 'ä𝄞' }],
    [{ result: null }, null],
    [{ size: 65_534 }, 'x'.repeat(65_534)],
    [{ size: 65_535 }, null],
  ]
  for (const [payload, result] of expected) {
    const [id] = await enqueue('result', 1, { payload })
    await becomes(id!, 'done')
    expect((await job(id!)).result, JSON.stringify(payload).slice(0, 50)).toEqual(result)
  }
})

test.each([
  ['a number that JSON has not', () => 1n],
  [
    'a circle',
    () => {
      const circle: Record<string, unknown> = {}
      return (circle['self'] = circle)
    },
  ],
])('a result that is no JSON (%s) is left out: the work is done all the same', async (_, result) => {
  await start([kind('result', async () => ({ result: result() }))])
  const [id] = await enqueue('result')
  await becomes(id!, 'done')
  expect((await job(id!)).result).toBeNull()
})

test('a stop waits no longer than for the slot that is replaced', async () => {
  const engine = await start([kind('deaf', () => new Promise(() => {}), { defaults: { timeoutMs: 20 } })], {
    abortGraceMs: 10,
    abandonMs: 300,
  })
  await enqueue('deaf')
  await reached('running')
  let stopped = false
  const stop = engine.stop(600_000).then(() => (stopped = true))
  await until(() => stopped, 'it has stopped')
  await stop
  expect(engine.told.some(({ type }) => type === 'handler:abandoned')).toBe(true)
})

test('progress is written at most once a second, and the last report is never lost', async () => {
  const gate = Promise.withResolvers<void>()
  const { pools } = await start([
    kind('reports', async ({ progress }) => {
      for (let done = 0; done <= 100; done += 1) await progress({ done, total: 101 })
      await gate.promise
      await progress({ done: 101, total: 101, message: 'all', data: { last: true } })
    }),
  ])
  let writes = 0
  const query = pools.commit.query.bind(pools.commit) as (config: { name?: string }) => Promise<unknown>
  Object.assign(pools.commit, {
    query: (config: { name?: string }) => {
      if (config.name === 'save_progress') writes += 1
      return query(config)
    },
  })
  const [id] = await enqueue('reports')
  await until(async () => (await job(id!)).progress !== null, 'the first report is there')
  expect(writes).toBeLessThanOrEqual(2)
  gate.resolve()
  await becomes(id!, 'done')
  expect((await job(id!)).progress).toMatchObject({ done: 101, total: 101, message: 'all', data: { last: true } })
  expect(writes).toBeLessThanOrEqual(3)
})

test('a payload that SQL put in and the kind does not know is dead at once, with its place', async () => {
  let ran = false
  await start([
    defineKind({
      name: 'strict',
      payload: z.object({ to: z.object({ address: z.email() }) }),
      example: { to: { address: 'ada@example.org' } },
      run: async ({ payload }) => {
        ran = payload.to.address.length > 0
      },
    }),
  ])
  const [id] = await enqueue('strict', 1, { payload: { to: { address: 'nobody' } } })
  await becomes(id!, 'dlq')
  expect(await job(id!)).toMatchObject({ attempts: 1, last_error: expect.stringContaining('/to/address') })
  expect(ran).toBe(false)
})

describe.each([4, 64])('N04: a bucket of 5 that refills with 5 a second, with %i slots', (slots) => {
  test('lets every start take a token, loses no attempt, harms nobody, and does not spin', async () => {
    const starts: number[] = []
    const { claims } = await start(
      [
        kind('limited', async () => void starts.push(performance.now()), {
          defaults: { rateLimit: { rps: 5, burst: 5 } },
        }),
        kind('free', async () => undefined),
      ],
      { slots },
    )
    const began = performance.now()
    await enqueue('limited', 50)
    const free = await enqueue('free', 20)
    await until(
      async () =>
        (await database.sql(`select from mdm.aa_job where id = any ($1) and status <> 'done'`, [free])).length === 0,
      'the others are done',
    )
    expect(performance.now() - began).toBeLessThan(2_000)
    await until(() => starts.length >= 15, '15 have started')
    const emptyBefore = claims.filter((brought) => brought === 0).length
    await until(() => starts.length >= 25, '25 have started')
    const empty = claims.filter((brought) => brought === 0).length - emptyBefore
    // Two seconds, ten tokens: at most two claims a second come to nothing, whichever way the jobs wait.
    expect(empty).toBeLessThanOrEqual(4)
    // The 25th start has waited for 20 tokens: not less, and not much more.
    expect(starts[24]! - starts[0]!).toBeGreaterThan(3_980)
    expect(starts[24]! - starts[0]!).toBeLessThan(4_800)
    for (const [index, at] of starts.entries()) {
      const within = starts.filter((other) => other >= at && other < at + 990).length
      expect(within, `in the second from start ${index}`).toBeLessThanOrEqual(10)
    }
    const [row] = await database.sql<{ attempts: number; released: number }>(
      `select max(attempts) as attempts, (select count(*)::int from mdm.aa_audit_log where action = 'job_released') as released from mdm.aa_job`,
    )
    expect(row!.attempts).toBe(1)
    expect(row!.released).toBeLessThanOrEqual(60)
  })
})

test('a paused kind is not started, what runs goes on, and resume takes effect at once', async () => {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const { rulesInForce } = await start(
    [
      kind('held', async ({ job: facts }) => {
        const gate = Promise.withResolvers<void>()
        gates.set(facts.id, gate)
        await gate.promise
      }),
      kind('free', async () => undefined),
    ],
    { slots: 2 },
  )
  const ids = await enqueue('held', 4)
  await until(() => gates.size === 2, 'two run')
  await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('held', 'user:ada')`)
  await rulesInForce()
  const [free] = await enqueue('free')
  for (const gate of gates.values()) gate.resolve()
  await becomes(free!, 'done')
  await reached('done', 3)
  expect(gates.size).toBe(2)
  expect(await counts()).toEqual({ done: 3, pending: 2 })
  await database.sql('delete from mdm.aa_queue_pause')
  await until(() => gates.size === 4, 'the others run')
  for (const gate of gates.values()) gate.resolve()
  await reached('done', 5)
  expect((await Promise.all(ids.map(job))).every(({ attempts }) => attempts === 1)).toBe(true)
})

test('a read of the pauses that was slow does not undo the one after it', async () => {
  let held = 0
  const { pools, wakeup } = await start([
    kind('held', async () => void (held += 1)),
    kind('free', async () => undefined),
  ])
  const slow = Promise.withResolvers<void>()
  // A read is three statements on two pools, and in force when the last of them has answered.
  const answered: Record<string, number> = { read_claim_rules: 0, count_living_instances: 0, find_due_kinds: 0 }
  const reads = () => Math.min(...Object.values(answered))
  for (const pool of [pools.claim, pools.commit]) {
    const query = pool.query.bind(pool) as (config: { name?: string }) => Promise<unknown>
    Object.assign(pool, {
      async query(config: { name?: string }) {
        const answer = await query(config)
        if (config.name === undefined || !(config.name in answered)) return answer
        answered[config.name]! += 1
        if (config.name === 'find_due_kinds' && answered[config.name] === 1) await slow.promise
        return answer
      },
    })
  }
  let signals = 0
  wakeup.on('control', () => (signals += 1))
  wakeup.signal('control')
  await until(() => reads() === 1, 'the first read is under way, and has seen no pause')
  await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('held', 'user:ada')`)
  await until(() => signals === 2, 'the pause is told')
  // Time for a second read, did it not wait for the first.
  for (let i = 0; i < 10; i += 1) await database.sql('select')
  slow.resolve()
  await until(() => reads() >= 2, 'the second read has answered')
  await database.sql('select')
  await enqueue('held')
  const [free] = await enqueue('free')
  await becomes(free!, 'done')
  expect(held).toBe(0)
})

describe('a graceful stop', () => {
  test('gives back what has not ended, attempts untouched, and holds nothing', async () => {
    let started = 0
    const { stop } = await start(
      [
        kind('endless', ({ signal }) => {
          started += 1
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
        }),
      ],
      { slots: 3 },
    )
    const ids = await enqueue('endless', 5)
    await until(() => started === 3, 'three run')
    await stop(100)
    expect(await counts()).toEqual({ pending: 5 })
    expect((await Promise.all(ids.map(job))).every(({ attempts, lease }) => attempts === 0 && lease === null)).toBe(
      true,
    )
    expect(await claimRows()).toBe(0)
    const [released] = await database.sql(
      `select count(*)::int as rows, min(payload ->> 'cause') as cause from mdm.aa_audit_log where action = 'job_released'`,
    )
    expect(released).toEqual({ rows: 3, cause: 'shutdown' })
  })

  test('takes whatever an aborted handler throws for its way of ending, unless it says what is to be done', async () => {
    const throwsWhenAborted = (name: string, thrown: () => unknown) =>
      kind(
        name,
        ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(thrown() as Error))),
      )
    const { stop } = await start([
      throwsWhenAborted('own_error', () => new Error('aborted')),
      throwsWhenAborted('no_error', () => 'aborted'),
      throwsWhenAborted('never', () => new NeverRetry('there is no such order')),
    ])
    const [own] = await enqueue('own_error')
    const [none] = await enqueue('no_error')
    const [never] = await enqueue('never')
    await until(async () => (await counts())['running'] === 3, 'all run')
    await stop(100)
    for (const id of [own!, none!])
      expect(await job(id)).toMatchObject({ status: 'pending', attempts: 0, last_error: null })
    expect(await job(never!)).toMatchObject({ status: 'dlq', attempts: 1 })
  })

  test('waits for what ends in time', async () => {
    const gate = Promise.withResolvers<void>()
    let started = 0
    const { stop } = await start([
      kind('brief', async () => {
        started += 1
        await gate.promise
      }),
    ])
    await enqueue('brief', 2)
    await until(() => started === 2, 'both run')
    const stopped = stop(5_000)
    gate.resolve()
    await stopped
    expect(await counts()).toEqual({ done: 2 })
  })

  test('O01: a handler that ignores everything does not hold it up', async () => {
    let started = false
    const { stop } = await start([
      kind('deaf', () => {
        started = true
        return new Promise(() => undefined)
      }),
    ])
    const [id] = await enqueue('deaf')
    await until(() => started, 'it runs')
    const began = performance.now()
    await stop(200)
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(await job(id!)).toMatchObject({ status: 'pending', attempts: 0, lease: null })
  })
})

test('F12, C01: backends that are terminated under load cost no job and no attempt', async () => {
  const runs = new Map<string, number>()
  await start([
    kind('steady', async ({ job: facts }) => {
      runs.set(facts.id, (runs.get(facts.id) ?? 0) + 1)
      await new Promise((resolve) => setImmediate(resolve))
    }),
  ])
  const ids = await enqueue('steady', 2_000)
  for (let round = 1; round <= 5; round += 1) {
    await until(() => runs.size >= Math.min(round * 200, 1_500), 'jobs run')
    await database.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name like 'stellwerk%'`,
    )
  }
  // Also what a claim had taken whose answer was lost with its connection.
  await reached('done', ids.length, 20_000)
  expect([...runs.values()].every((count) => count === 1)).toBe(true)
  const odd = await database.sql(
    `select action, count(*)::int as rows from mdm.aa_audit_log where action not in ('job_enqueued', 'job_done', 'job_released') group by action`,
  )
  expect(odd).toEqual([])
  const doubles = await database.sql(
    `select job_id from mdm.aa_audit_log where action = 'job_done' group by job_id having count(*) > 1`,
  )
  expect(doubles).toEqual([])
})

test('R10: a failure that cannot be recorded as it is, is recorded shorter; one that cannot be at all is left to recovery', async () => {
  await database.sql(`create function refuse() returns trigger language plpgsql as $$ begin
    if old.job_kind = 'never' or new.last_error like '%unspeakable%' then raise exception 'refused by a trigger'; end if;
    return new; end $$`)
  await database.sql(
    `create trigger refuse before update on mdm.aa_job for each row when (old.status = 'running') execute function refuse()`,
  )
  const { told } = await start([
    kind('spoken', async () => {
      throw new Error('unspeakable')
    }),
    kind('never', async () => {
      throw new Error('no')
    }),
    kind('fine', async () => undefined),
  ])
  const [never] = await enqueue('never')
  const [spoken] = await enqueue('spoken')
  await until(async () => (await job(spoken!)).deferred, 'the failure is recorded')
  expect(await job(spoken!)).toMatchObject({
    attempts: 1,
    deferred: true,
    last_error: expect.stringContaining('refused by a trigger'),
  })
  // The loop lives on.
  await enqueue('fine', 20)
  await reached('done', 20)
  expect(await job(never!)).toMatchObject({ status: 'running', attempts: 1 })
  expect(told.some((event) => event.type === 'loop:failed' && event.loop === 'settle')).toBe(true)
  await database.sql('drop trigger refuse on mdm.aa_job')
  await database.sql(`update mdm.aa_job set claimed_at = claimed_at - interval '1 hour' where id = $1`, [never])
  expect((await recoverStaleJobs(database.pool, 10)).map((row) => row.id)).toEqual([never])
})

test('P05, T07: jobs of one transaction start at its commit, all of them, and not before', async () => {
  let started = 0
  const { told } = await start([kind('together', async () => void (started += 1))], { pollMs: 60_000 })
  await until(() => told.length >= 0, 'it runs')
  await inTransaction(database.pool, async (tx) => {
    for (let count = 0; count < 10; count += 1) await tx.query(`select mdm.enqueue_job('together', '{}')`)
    await enqueue('together')
    await until(() => started === 1, 'the job that was committed meanwhile has run')
  })
  await until(() => started === 11, 'all have run')
  const claimed = told.flatMap((event) => (event.type === 'jobs:claimed' ? event.jobs : []))
  expect(claimed.every(({ availableMs, claimedMs }) => claimedMs >= availableMs)).toBe(true)
  await reached('done', 11)
})
