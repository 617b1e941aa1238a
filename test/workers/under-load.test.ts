import { Client, type Pool, type PoolClient, type QueryConfig } from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { createEnqueuer, type Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import type { EnqueueOrder } from '../../src/resolvers/enqueue-order.ts'
import { readWarningFacts } from '../../src/sql/read-warning-facts.ts'
import { createClaimRules, type ClaimShape } from '../../src/workers/claim-rules.ts'
import { defineKind, type KindDefinition, type OwnKind } from '../../src/workers/define-kind.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { testApi } from '../api/support.ts'
import { claimOf, registerTestKinds, testDispatcher, testTenant, testWorker, type TestWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { enqueueOrder } from '../support/enqueue-order.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

// What has to hold while much happens at once, or while something beside the jobs is slow.

let database: TestDatabase
const leave: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  vi.unstubAllGlobals()
  for (const each of leave.splice(0).toReversed()) await each()
  await database.drop()
})

const anything = z.looseObject({})
const kind = (name: string, run: KindDefinition<typeof anything>['run'] = async () => {}): OwnKind =>
  defineKind({ name, payload: anything, run })

/** None of them looks by itself: what runs was told of. */
async function start(kinds: readonly OwnKind[], given: Parameters<typeof startEngine>[2] = {}): Promise<TestEngine> {
  const engine = await startEngine(database, kinds, { pollMs: 60_000, ...given })
  leave.push(() => engine.stop(0))
  return engine
}

async function enqueue(
  name: string,
  count: number,
  given: { availableIn?: string; priority?: number; tenant?: string } = {},
): Promise<string[]> {
  const rows = await database.sql<{ job_id: string }>(
    `select e.job_id from mdm.enqueue_jobs((
       select jsonb_agg(jsonb_build_object('kind', $1::text, 'payload', '{}'::jsonb, 'available_at', clock_timestamp() + $3::interval,
                                           'priority', $4::int, 'tenant', $5::text))
         from generate_series(1, $2::int))) e`,
    [name, count, given.availableIn ?? null, given.priority ?? null, given.tenant ?? null],
  )
  return rows.map((row) => row.job_id)
}

const done = async () =>
  (await database.sql<{ jobs: number }>(`select count(*)::int as jobs from mdm.aa_job where status = 'done'`))[0]!.jobs
const allDone = (jobs: number, withinMs?: number) =>
  until(async () => (await done()) === jobs, `${jobs} jobs are done`, withinMs)

/** Every job as often as it ran and as its end was journaled: `[[runs, ends, jobs]]`. */
const howOften = () =>
  database.sql<{ status: string; runs: number; ends: number; jobs: number }>(
    `select status::text, runs, ends::int, count(*)::int as jobs
       from mdm.aa_job j
      cross join lateral (select count(*) as ends from mdm.aa_audit_log a where a.job_id = j.id and a.action <> 'job_enqueued') a
      group by 1, 2, 3`,
  )

/** Everything that is sent on the channel of wake-ups; `settle` resolves when what was sent before it is here. */
async function hear() {
  const heard: string[] = []
  const client = new Client({ connectionString: database.url })
  await client.connect()
  leave.push(() => client.end())
  client.on('notification', ({ payload }) => heard.push(payload ?? ''))
  await client.query('listen mdm_wakeup')
  return {
    heard,
    async settle() {
      const last = crypto.randomUUID()
      await database.sql(`select pg_notify('mdm_wakeup', $1)`, [last])
      await until(() => heard.includes(last), 'the last notification is here')
      heard.splice(heard.indexOf(last), 1)
    },
  }
}

const orderOf = (tenantId: string, name: string, payload: object = {}): EnqueueOrder =>
  enqueueOrder({ tenantId, kind: name, payloadText: JSON.stringify(payload) })

const enqueuerOf = ({ pools, wakeup }: TestEngine): Enqueuer => createEnqueuer({ pool: pools.enqueue, wakeup })

describe('P01: while a session holds an old snapshot', () => {
  const jobs = 3_000
  let holder: PoolClient
  let held: { pid: number }
  beforeEach(async () => {
    await ensurePriorityIndexes(database.url)
    const engine = await start([kind('held')], { pools: [] })
    await enqueue('held', jobs)
    holder = await database.pool.connect()
    leave.push(async () => {
      await holder.query('rollback')
      holder.release()
    })
    await holder.query('begin isolation level repeatable read')
    held = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid, count(*) from mdm.aa_job')).rows[0]!
    await engine.engine.start([{ name: 'default', slots: 4, kinds: null, tenantIds: null, dispatch: 'fair' }])
    await allDone(jobs)
    await engine.stop()
  })

  test('each job ends once, and it is told', async () => {
    expect(await howOften()).toEqual([{ status: 'done', runs: 1, ends: 1, jobs }])
    const [facts] = await readWarningFacts(database.pool, 30_000, 1)
    expect(facts!.held).toMatchObject({ pid: held.pid })
  })

  // Where a pair's bucket is in use the statement is the kind-first one.
  const pairs = { pairBounds: { 'other of-nobody': 1 } }
  test.each([
    ['fair', {}],
    ['fair, kind by kind', { shape: pairs }],
    ['by priority', { dispatch: 'priority' }],
    ['by priority, kind by kind', { dispatch: 'priority', shape: pairs }],
  ] as const)('claims %s step over the dead, for a second at a time', async (_, given) => {
    const pools = createPools(database.url)
    leave.push(() => pools.end())
    await enqueue('held', 200)
    const claims = claimsOf(pools, await testWorker(database.pool), ['held'], given)
    const costs: number[] = []
    for (let nth = 0; nth < 6; nth += 1) {
      const cost = await buffersOf(pools.claim, claims.next)
      // The first fair one knows of no tenant yet.
      expect(cost.answer.length).toBeGreaterThanOrEqual(nth === 0 ? 1 : 10)
      costs.push(cost.buffers)
    }
    // Nobody may remove the dead entries before the first job that is due. The first claims walk over all of them, 0.07 buffers each (310 in
    // all), and learn where the next can start: at 100 to 150, however many are dead.
    expect(Math.min(...costs)).toBeLessThan(190)
    // Each second they start at the front again: what came in there meanwhile is not passed over for longer.
    const [urgent] = await enqueue('held', 1, { priority: 0 })
    claims.pass(1_000)
    expect(await claims.next()).toContain(urgent)
  })

  test('what comes in front of the last claimed job is claimed within a second, though no poll and no wake-up follows', async () => {
    const engine = await start([kind('held')], { pollMs: 3_600_000 })
    for (let nth = 1; nth <= 5; nth += 1) {
      await enqueue('held', 150)
      await database.sql(`select pg_notify('mdm_wakeup', '')`)
      await allDone(jobs + 151 * nth - 1)
      await enqueue('held', 1, { priority: 0 })
      await database.sql(`select pg_notify('mdm_wakeup', '')`)
      // The rules are read every ten seconds, and wake it too.
      await allDone(jobs + 151 * nth, 5_000)
    }
    expect(await done()).toBe(jobs + 5 * 151)
    await engine.stop()
  })
})

describe.each(['fair', 'priority'] as const)('jobs of a foreign kind in the way of a claim, %s', (dispatch) => {
  const claimsOfOwn = async () => {
    await ensurePriorityIndexes(database.url)
    await registerTestKinds(database.pool, ['foreign', 'own'])
    const pools = createPools(database.url)
    leave.push(() => pools.end())
    return { pools, claims: claimsOf(pools, await testWorker(database.pool), ['own'], { dispatch }) }
  }

  test('met again and again: it goes kind by kind for the next second', async () => {
    const { claims } = await claimsOfOwn()
    for (let priority = 0; priority < 5; priority += 1) {
      await enqueue('foreign', 6_000, { priority })
      await enqueue('own', 10, { priority })
    }
    // Nothing has told it that the foreign ones are due. By tenant it takes the pages for those of dead ones, until it has met them behind keys too.
    for (let nth = 0; nth < 6 && claims.statements.at(-1) !== `claim_${dispatch}_by_kind`; nth += 1)
      expect((await claims.next()).length).toBeGreaterThan(0)
    expect(claims.statements.at(-1)).toBe(`claim_${dispatch}_by_kind`)
    claims.pass(1_000)
    await claims.next()
    expect(claims.statements.at(-1)).toBe(`claim_${dispatch}`)
  })

  test('all in front and known of: a claim kind by kind finds the way past them, the next ones take it', async () => {
    const { pools, claims } = await claimsOfOwn()
    await enqueue('foreign', 5_000, { priority: 0 })
    await enqueue('own', 200)
    claims.due(['foreign', 'own'])
    await claims.next()
    expect(claims.statements.at(-1)).toBe(`claim_${dispatch}_by_kind`)
    const { buffers } = await buffersOf(pools.claim, claims.next)
    expect(claims.statements.at(-1)).toBe(`claim_${dispatch}`)
    // 100 to 160 with nothing in front; past 5,000 foreign ones it were 250 and more.
    expect(buffers).toBeLessThan(200)
    const [urgent] = await enqueue('own', 1, { priority: 0 })
    claims.pass(1_000)
    expect(await claims.next()).toContain(urgent)
    expect(claims.statements.at(-1)).toBe(`claim_${dispatch}_by_kind`)
  })
})

describe('jobs of a foreign kind in front of those of several tenants', () => {
  const rounds = 5
  const limit = 10

  /** Claims all jobs of its own; answers what each claim was, what it cost, and how many jobs each tenant had had after it. */
  const claimAll = async (tenants: number) => {
    await registerTestKinds(database.pool, ['foreign', 'own'])
    const tenantOf = new Map<string, number>()
    for (let tenant = 0; tenant < tenants; tenant += 1) {
      const key = `tenant-${tenant}`
      await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ($1, $1)`, [key])
      await enqueue('foreign', 1_500, { tenant: key, priority: 0 })
      for (const id of await enqueue('own', rounds, { tenant: key })) tenantOf.set(id, tenant)
    }
    const pools = createPools(database.url)
    leave.push(() => pools.end())
    const claims = claimsOf(pools, await testWorker(database.pool), ['own'])
    claims.due(['foreign', 'own'])
    const had = Array.from({ length: tenants }, () => 0)
    const steps: { statement: string | undefined; buffers: number; had: number[] }[] = []
    for (let nth = 0; nth < (rounds * tenants) / limit; nth += 1) {
      const { answer, buffers } = await buffersOf(pools.claim, claims.next)
      for (const id of answer) had[tenantOf.get(id)!]! += 1
      steps.push({ statement: claims.statements.at(-1), buffers, had: [...had] })
    }
    return steps
  }

  test.each([
    ['a claim that came to all of them finds the way past, and the next ones take it', 6, 'claim_fair'],
    ['what has come to some of them knows no way past those of the others', 14, 'claim_fair_by_kind'],
  ])('%s; none is passed over', async (_, tenants, statement) => {
    const [first, ...next] = await claimAll(tenants)
    expect(first!.statement).toBe('claim_fair_by_kind')
    expect(new Set(next.map((step) => step.statement))).toEqual(new Set([statement]))
    // 140 to 200; past the foreign jobs of the four tenants that the first one did not come to, the second was at 320.
    expect(Math.max(...next.map(({ buffers }) => buffers))).toBeLessThan(300)
    // Turn by turn: nobody is ahead of another by more than one.
    for (const { had } of [first!, ...next]) expect(Math.max(...had) - Math.min(...had)).toBeLessThanOrEqual(1)
    expect(new Set(next.at(-1)!.had)).toEqual(new Set([rounds]))
  })
})

test.each([
  ['some kinds', { kinds: ['due'] }, false],
  ['some tenants', {}, true],
] as const)(
  'what others had locked at the moment of the claim is claimed when they have let it go, by a pool of %s, without a wake-up',
  async (_, limits, ofTenant) => {
    const tenantId = await testTenant(database)
    const [tenant] = await database.sql<{ key: string }>('select tenant_key as key from mdm.aa_tenant where id = $1', [
      tenantId,
    ])
    await registerTestKinds(database.pool, ['foreign', 'due'])
    // While jobs of a foreign kind are due, the claim goes kind by kind.
    await enqueue('foreign', 1, { tenant: tenant!.key })
    const [id] = await enqueue('due', 1, { tenant: tenant!.key })
    const other = await database.pool.connect()
    leave.push(async () => other.release())
    await other.query('begin')
    await other.query('select from mdm.aa_job where id = $1 for update', [id])
    const spec = {
      name: 'default',
      slots: 4,
      kinds: null,
      tenantIds: ofTenant ? [tenantId] : null,
      dispatch: 'fair',
    } as const
    const engine = await start([kind('due')], { pools: [{ ...spec, ...limits }] })
    await until(() => engine.claims.length > 12, 'it has tried more than once')
    expect(await done()).toBe(0)
    const tries = engine.claims.length
    await until(() => engine.claims.length > tries, 'it tries again')
    await other.query('rollback')
    await allDone(1)
    expect(await howOften()).toContainEqual({ status: 'done', runs: 1, ends: 1, jobs: 1 })
  },
)

test('P03: wake-ups go by the clock and never by the job, and carry no job', async () => {
  const { heard, settle } = await hear()
  const engine = await start([kind('told')])
  const enqueuer = enqueuerOf(engine)
  const tenantId = await testTenant(database)
  await settle()
  heard.length = 0
  const startedAt = performance.now()
  const ids: string[] = []
  // One after the other, each with a commit of its own: what is told together was gathered by time.
  for (let i = 0; i < 300; i += 1) {
    const answer = await enqueuer.enqueue(orderOf(tenantId, 'told'))
    if (answer.type === 'enqueued') ids.push(answer.jobId)
  }
  await allDone(300)
  await engine.stop()
  const elapsedMs = performance.now() - startedAt
  await settle()
  expect(heard.length).toBeGreaterThan(0)
  // One in 20 ms, and timers drop fractions.
  expect(heard.length).toBeLessThanOrEqual(elapsedMs / 19 + 5)
  const words = new Set(['work', 'journal', 'control', 'rights', 'kinds=told'])
  for (const payload of heard) {
    const [from, ...named] = payload.split(' ')
    expect(from).toBe(engine.instance.id)
    expect(named.filter((word) => !words.has(word))).toEqual([])
  }
  expect(ids).toHaveLength(300)
  expect(ids.filter((id) => heard.some((payload) => payload.includes(id)))).toEqual([])

  heard.length = 0
  await database.sql(`select from generate_series(1, 20), mdm.enqueue_job('told', '{}', notify => false)`)
  await settle()
  expect(heard).toEqual([])
})

test('P07: a drain writes the job, its journal row and its claim, and no other row', async () => {
  const jobs = 1_000
  const engine = await start([kind('plain')], { pools: [] })
  await enqueue('plain', jobs)
  const before = await until(async () => {
    const seen = await written()
    return seen['mdm.aa_job']?.['ins'] === jobs && seen
  }, 'the enqueue is counted')
  await engine.engine.start([{ name: 'default', slots: 4, kinds: null, tenantIds: null, dispatch: 'fair' }])
  await allDone(jobs)
  await engine.stop()
  const grown = await until(async () => {
    const after = difference(before, await written())
    const claims = after['mdm.aa_claim']
    // A session's statistics are there once it has ended.
    return after['mdm.aa_job']?.upd === 2 * jobs && claims !== undefined && claims.del === claims.ins && after
  }, 'the sessions are counted')
  const {
    'mdm.aa_job': job,
    'mdm.aa_claim': claim,
    // Once a start, once a second, once an end: never in a job's transaction.
    'mdm.aa_instance': instance,
    'mdm.aa_worker': worker,
    'mdm.aa_job_kind': kinds,
    ...others
  } = grown
  expect(job).toEqual({ ins: 0, upd: 2 * jobs, del: 0 })
  // One a claim statement, which is deleted with the end of its last job.
  expect(claim).toEqual({ ins: expect.any(Number), upd: 0, del: claim!.ins })
  expect(claim!.ins).toBeLessThan(jobs / 10)
  const byTheClock = [instance, worker, kinds].flatMap((counts) => Object.values(counts ?? {}))
  expect(byTheClock.reduce((sum, count) => sum + count, 0)).toBeLessThan(50)
  // The rest is one month of the journal, or two at midnight of its last day.
  const journal = Object.entries(others)
  expect(journal.filter(([name]) => !/^mdm_journal\.aa_audit_log_\d{4}_\d{2}$/.test(name))).toEqual([])
  expect(journal.reduce((sum, [, { ins }]) => sum + ins, 0)).toBe(jobs)
  expect(journal.filter(([, { upd, del }]) => upd + del > 0)).toEqual([])
})

test('C03: five times as many calls as connections all end, and one connection is enough for each', async () => {
  // Makes moves transactions: the statement and what follows the job, on one connection.
  const followed: string[] = []
  const api = await testApi({
    followUps: new Map([
      [
        'echo',
        async (tx, job) => {
          await tx.query({ text: 'select 1' })
          followed.push(job.id)
        },
      ],
    ]),
  })
  leave.push(() => api.stop())
  const mutate = async (field: string, type: string, input: object, shape: string) => {
    const { data, errors } = await api.run(
      `mutation ($input: ${type}!) { ${field}(input: $input) { ${shape} errors { code message } } }`,
      { input },
    )
    expect(errors).toEqual([])
    expect(data[field].errors).toEqual([])
    return data[field]
  }
  const add = async (): Promise<string> => {
    const input = { job: { custom: { kind: 'echo', payload: {} } } }
    return (await mutate('enqueueJob', 'EnqueueJobInput', input, 'job { id }')).job.id
  }
  const cancel = (id: string) => mutate('cancelJob', 'JobActionInput', { id }, 'job { status }')
  const replay = (id: string) => mutate('replayJob', 'ReplayJobInput', { id }, 'job { status }')
  const found = (key: string) => mutate('createTenant', 'CreateTenantInput', { key, name: key }, 'tenant { key }')
  // This one counts in a transaction.
  const count = async () => {
    const { data, errors } = await api.run('{ jobs { totalCount { count } } }')
    expect(errors).toEqual([])
    return data
  }
  const { api: pool, commit } = api.deps.pools
  const size = pool.options.max
  expect(size).toBe(10)

  // In a pool of one, a second connection inside a transaction never comes.
  for (const connections of [size, 1]) {
    for (const each of [pool, commit]) {
      await closeAll(each)
      each.options.max = connections
    }
    const ids = await Promise.all(Array.from({ length: 2 * size }, add))
    const [pending, ended] = [ids.slice(0, size), ids.slice(size)]
    await Promise.all(ended.map(cancel))
    const answers = await Promise.all(
      Array.from({ length: size }, (_, i) => [
        add(),
        cancel(pending[i]!),
        replay(ended[i]!),
        count(),
        found(`of-${connections}-${i}`),
      ]).flat(),
    )
    expect(answers).toHaveLength(5 * size)
    expect(Math.max(pool.totalCount, commit.totalCount)).toBeLessThanOrEqual(connections)
    expect(followed.splice(0)).toHaveLength(3 * size)
    expect(
      await api.sql(
        `select status::text, count(*)::int as jobs from mdm.aa_job where id = any ($1) group by 1 order by 1`,
        [ids.map((id) => id.replace('job_', ''))],
      ),
    ).toEqual([
      { status: 'failed', jobs: size },
      { status: 'pending', jobs: size },
    ])
  }
})

test('C04: a slow commit delays, loses and doubles nothing', async () => {
  const calls: string[] = []
  const engine = await start([kind('slow', async ({ job }) => void calls.push(job.id))])
  await database.sql(
    `create function mdm.test_slow_commit() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return null; end $$`,
  )
  await database.sql(
    `create constraint trigger test_slow_commit after insert or update on mdm.aa_job deferrable initially deferred
       for each row when (new.payload ? 'slow') execute function mdm.test_slow_commit()`,
  )
  const tenantId = await testTenant(database)
  const enqueuer = enqueuerOf(engine)
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) => enqueuer.enqueue(orderOf(tenantId, 'slow', i === 50 ? { slow: true } : {}))),
  )
  // Nothing but the three commits is waited for: no poll, which comes each minute, and no recovery.
  await allDone(100)
  const ids = answers.flatMap((answer) => (answer.type === 'enqueued' ? [answer.jobId] : []))
  expect(new Set(ids).size).toBe(100)
  expect(calls.toSorted()).toEqual(ids.toSorted())
  expect(await howOften()).toEqual([{ status: 'done', runs: 1, ends: 1, jobs: 100 }])
  expect(engine.told.filter(({ type }) => type === 'loop:failed' || type === 'lease:lost')).toEqual([])
  expect(await database.sql('select from mdm.aa_claim')).toEqual([])
})

test('C05: a wake-up comes after the commit, and none without one', async () => {
  const { heard, settle } = await hear()
  await registerTestKinds(database.pool, ['later'])
  const tenantId = await testTenant(database)
  await settle()
  heard.length = 0
  const rolledBack = inTransaction(database.pool, async (tx) => {
    await tx.query(`select mdm.enqueue_job('later', '{}')`)
    await tx.query(`select mdm.enqueue_jobs('[{"kind":"later","payload":{}}]')`)
    throw new Error('no')
  })
  await expect(rolledBack).rejects.toThrow('no')
  await settle()
  expect(heard).toEqual([])

  await inTransaction(database.pool, async (tx) => {
    await tx.query(`select mdm.enqueue_job('later', '{}')`)
    await settle()
    expect(heard).toEqual([])
  })
  await until(() => heard.length === 1, 'the commit is told')
  expect(heard).toEqual([''])

  // It listens from here on: what it is told of is what it did.
  const engine = await start([kind('later')], { pools: [] })
  // The service's own: whoever hears of a job finds it, on any session.
  const found: Promise<number>[] = []
  const other = await database.pool.connect()
  leave.push(async () => other.release())
  engine.wakeup.on('work', () =>
    found.push(other.query('select from mdm.aa_job').then(({ rowCount }) => rowCount ?? 0)),
  )
  await enqueuerOf(engine).enqueue(orderOf(tenantId, 'later'))
  expect(await Promise.all(found)).toEqual([2])
  // A batch that the database refuses is rolled back and told to nobody.
  const refused = await enqueuerOf(engine).enqueueAll([
    orderOf(tenantId, 'later'),
    { ...orderOf(tenantId, 'later'), payloadText: '{"a":"\\u0000"}' },
  ])
  expect(refused.type).toBe('refused')
  expect(found).toHaveLength(1)
})

test.each([10, -10])(
  'T02: the clock of the database decides, also where that of the process is %i minutes off',
  async (minutes) => {
    const real = Date
    const now = () => real.now() + minutes * 60_000
    vi.stubGlobal(
      'Date',
      class extends real {
        constructor(...given: unknown[]) {
          super(...((given.length === 0 ? [now()] : given) as [number]))
        }
        static override now = now
      },
    )
    await registerTestKinds(database.pool, ['held'])
    const ran: string[] = []
    const engine = await start([
      kind('timed', async ({ job }) => void ran.push(job.id)),
      defineKind({ name: 'ticking', payload: anything, run: async () => {}, schedule: { every: 'PT1S' } }),
    ])
    const tenantId = await testTenant(database)
    const enqueuer = enqueuerOf(engine)
    const after = async (afterMs: number) => {
      const answer = await enqueuer.enqueue({ ...orderOf(tenantId, 'timed'), schedule: { afterMs } })
      return answer.type === 'enqueued' ? answer.jobId : ''
    }
    const due = [
      ...(await enqueue('timed', 3)),
      ...(await enqueue('timed', 3, { availableIn: '200 milliseconds' })),
      await after(200),
    ]
    const later = [...(await enqueue('timed', 3, { availableIn: '5 minutes' })), await after(300_000)]
    await until(() => due.every((id) => ran.includes(id)), 'what is due runs')

    // Ticks are those of the database's clock.
    const ticks = await until(async () => {
      const rows = await database.sql<{ off: number }>(
        `select abs(extract(epoch from created_at - substr(idempotency_key, 6)::timestamptz))::float8 as off from mdm.aa_job where job_kind = 'ticking'`,
      )
      return rows.length > 0 && rows
    }, 'there is a tick')
    expect(Math.max(...ticks.map(({ off }) => off))).toBeLessThan(60)

    // 15 minutes make a job of this kind stale, 30 seconds of silence an instance dead.
    const living = await testWorker(database.pool, 'living')
    const silent = await testWorker(database.pool, 'silent')
    await database.sql(
      `update mdm.aa_instance set heartbeat_at = clock_timestamp() - interval '5 minutes' where id = $1`,
      [silent.instanceId],
    )
    const held: string[] = []
    for (const [worker, since] of [
      [living, '14 minutes'],
      [living, '16 minutes'],
      [silent, '1 minute'],
    ] as const) {
      await database.sql(
        `select mdm.enqueue_job('held', '{}', tenant => (select tenant_key from mdm.aa_tenant where id = $1))`,
        [tenantId],
      )
      const { rows } = await claimOf(database.pool, worker, tenantId, ['held'])
      const id = rows[0]![0]
      held.push(id)
      await database.sql(`update mdm.aa_job set claimed_at = clock_timestamp() - $2::interval where id = $1`, [
        id,
        since,
      ])
    }
    const maintenance = createMaintenance({
      pool: database.pool,
      events: engine.events,
      everyMs: 60_000,
      deadAfterMs: 30_000,
      onRecovered: () => {},
    })
    const recovered = await maintenance.runOnce()
    expect(Object.fromEntries(recovered!.map(({ id, cause }) => [id, cause]))).toEqual({
      [held[1]!]: 'stale',
      [held[2]!]: 'dead_instance',
    })
    expect(later.filter((id) => ran.includes(id))).toEqual([])
    expect(ran.toSorted()).toEqual(due.toSorted())
  },
)

/** Of all tables: rows inserted, updated and deleted so far, where a session has told of them. */
async function written(): Promise<Record<string, { ins: number; upd: number; del: number }>> {
  await database.sql('select pg_stat_force_next_flush()')
  const rows = await database.sql<{ name: string; ins: number; upd: number; del: number }>(
    `select schemaname || '.' || relname as name, n_tup_ins::int as ins, n_tup_upd::int as upd, n_tup_del::int as del from pg_stat_user_tables`,
  )
  return Object.fromEntries(rows.map(({ name, ...counts }) => [name, counts]))
}

function difference(
  before: Awaited<ReturnType<typeof written>>,
  after: Awaited<ReturnType<typeof written>>,
): Awaited<ReturnType<typeof written>> {
  return Object.fromEntries(
    Object.entries(after).flatMap(([name, { ins, upd, del }]) => {
      const was = before[name] ?? { ins: 0, upd: 0, del: 0 }
      const grown = { ins: ins - was.ins, upd: upd - was.upd, del: del - was.del }
      return Object.values(grown).some((count) => count !== 0) ? [[name, grown]] : []
    }),
  )
}

/** Claims of ten by a dispatcher of their own, and how to let time pass for it. */
function claimsOf(
  pools: Pools,
  worker: TestWorker,
  kinds: readonly string[],
  given: { shape?: Partial<ClaimShape>; dispatch?: 'fair' | 'priority'; served?: readonly string[] } = {},
) {
  // A whole number: of (12.3 + 1,000) - 12.3 a bit can be missing, and the second would not be over.
  const from = Math.ceil(performance.now())
  let passed = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => from + passed)
  leave.push(async () => spy.mockRestore())
  const statements: (string | undefined)[] = []
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const spied = Object.assign(Object.create(pools.claim) as Pool, {
    query(config: QueryConfig) {
      statements.push(config.name)
      return pools.claim.query(config)
    },
  })
  const dispatcher = testDispatcher(spied, worker, rules, {
    kinds: given.served ?? null,
    dispatch: given.dispatch ?? 'fair',
  })
  return {
    /** Their prepared names. */
    statements,
    next: async (): Promise<string[]> => {
      const shape = { ...rules.shape(kinds, performance.now()), ...given.shape }
      return (await dispatcher.claim(10, shape, [])).map(({ id }) => id)
    },
    pass: (ms: number) => void (passed += ms),
    /** What the rules say of kinds with due jobs. */
    due: (those: readonly string[]) => rules.update({ tenants: [], pauses: [], caps: [], kinds: [] }, 1, those),
  }
}

/** The buffers that a statement of the pool's one session touches. */
async function buffersOf<Answer>(session: Pools['claim'], run: () => Promise<Answer>) {
  const standing = async () => {
    await session.query('select pg_stat_force_next_flush()')
    const { rows } = await session.query<{ buffers: number }>(
      'select sum(hits + reads)::float8 as buffers from pg_stat_get_backend_io(pg_backend_pid())',
    )
    return rows[0]!.buffers
  }
  // The first look reads the catalogue; what one costs after that is known from two.
  await standing()
  const before = await standing()
  const nothing = await standing()
  const answer = await run()
  return { answer, buffers: (await standing()) - nothing - (nothing - before) }
}

/** Ends the connections of a pool that nobody has in hand. */
async function closeAll(pool: Pool): Promise<void> {
  await until(async () => {
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
    for (const client of clients) client.release(true)
    return pool.totalCount === 0
  }, 'the pool is empty')
}
