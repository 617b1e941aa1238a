import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { firstRotation, noTenant, rotate, roundsFor, type Rotation } from '../../src/jobs/fairness.ts'
import { claimFairByKind } from '../../src/sql/claim-fair-by-kind.ts'
import { claimFairOfTenants } from '../../src/sql/claim-fair-of-tenants.ts'
import { claimFair, type FairParams, type PastKeys } from '../../src/sql/claim-fair.ts'
import { claimStatement } from '../../src/sql/claim-statement.ts'
import { heldUpBy, type ClaimedRow } from '../../src/sql/claimed-row.ts'
import { moveCapped, noKey, type ClaimParams, type PriorityParams, keyOf } from '../../src/sql/claim-parts.ts'
import { claimPriorityByKind } from '../../src/sql/claim-priority-by-kind.ts'
import { claimPriority } from '../../src/sql/claim-priority.ts'
import { findDueKinds } from '../../src/sql/find-due-kinds.ts'
import { createClaimRules } from '../../src/workers/claim-rules.ts'
import { plainList } from '../../src/sql/settle-parts.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { mostUrgent, nextTurns, seededRandom, type ModelJob, type ModelRules, type Turn } from './fair-model.ts'
import {
  claimParams,
  noPast,
  registerTestKinds,
  testDispatcher,
  testTenant,
  testWorker,
  type TestWorker,
} from './support.ts'

const kinds = ['crane', 'lock', 'signal'] as const

let database: TestDatabase
let pools: Pools
let worker: TestWorker
let tenants: string[]

beforeAll(async () => {
  database = await testDatabase()
  // The sessions of the product: what is proved here holds for its plans.
  pools = createPools(database.url)
  await registerTestKinds(database.pool, kinds)
  worker = await testWorker(database.pool)
  tenants = []
  for (let count = 0; count < 8; count += 1) tenants.push(await testTenant(database))
  tenants.sort()
})
afterAll(async () => {
  await pools.end()
  await database.drop()
})
beforeEach(() => database.sql('truncate mdm.aa_job, mdm.aa_claim'))

/** Written as the service writes them: due or not, they stand in the queue (a future head is one that SQL has moved). */
async function insertJobs(jobs: readonly Omit<ModelJob, 'id'>[]): Promise<ModelJob[]> {
  keys.clear()
  const rows = await database.sql<{ id: string; nr: number }>(
    `with given as (select *, mdm.uuid_v7() as id from unnest($1::uuid[], $2::text[], $3::int[], $4::float8[]) with ordinality g(tenant_id, kind, priority, due_in, nr)),
          made as (insert into mdm.aa_job (id, tenant_id, job_kind, priority, available_at, revision)
                   select id, tenant_id, kind, priority, date_trunc('day', now()) + due_in * interval '1 second', 1 from given)
     select id, nr::int from given`,
    [
      jobs.map((job) => job.tenantId),
      jobs.map((job) => job.kind),
      jobs.map((job) => job.priority),
      jobs.map((job) => (job.dueIn > 0 ? job.dueIn + 200_000 : job.dueIn)),
    ],
  )
  const ids = new Map(rows.map(({ id, nr }) => [nr, id]))
  return jobs.map((job, index) => ({ ...job, id: ids.get(index + 1)! }))
}

type FairClaim = (params: ClaimParams, fair: FairParams, rules: ModelRules) => Promise<readonly ClaimedRow[]>

/** The last claimed key of each tenant, or of each (kind, tenant); whoever inserts jobs forgets them. */
const keys = new Map<string, { kind: string; tenantId: string; past: ReturnType<typeof keyOf> }>()
let wasFilled = false

function pastKeys(): [...past: PastKeys, kinds: string] {
  const sorted = [...keys].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
  const part = (of: 0 | 1 | 2) => plainList(sorted.map(({ past }) => past[of]))
  return [
    plainList(sorted.map(({ tenantId }) => tenantId)),
    part(0),
    part(1),
    part(2),
    plainList(sorted.map(({ kind }) => kind)),
  ]
}

function remember(rows: readonly ClaimedRow[], nameOf: (row: ClaimedRow) => string): readonly ClaimedRow[] {
  for (const row of rows) keys.set(nameOf(row), { kind: row[2], tenantId: row[1], past: keyOf(row) })
  return rows
}

const ofTenant = (row: ClaimedRow): string => row[1]
const ofPair = (row: ClaimedRow): string => `${row[2]} ${row[1]}`

const bounds = (rules: ModelRules) => JSON.stringify(Object.fromEntries(rules.pairBounds))

const fairClaims: Record<
  string,
  { readonly claim: FairClaim; readonly bounded: boolean; readonly ofTenants: boolean }
> = {
  claim_fair: {
    claim: (params, fair) => claimFair(pools.claim, ...params, ...fair, ...noPast, false),
    bounded: false,
    ofTenants: false,
  },
  'claim_fair behind keys': {
    claim: async (params, fair) => {
      const [ids, priorities, micros, jobs] = pastKeys()
      const limit = params[4]
      const haveMore = wasFilled && keys.size < limit
      const rows = await claimFair(pools.claim, ...params, ...fair, ids, priorities, micros, jobs, haveMore)
      wasFilled = rows.length === limit
      return remember(rows, ofTenant)
    },
    bounded: false,
    ofTenants: false,
  },
  claim_fair_by_kind: {
    claim: (params, fair, rules) => claimFairByKind(pools.claim, ...params, ...fair, ...noPast, '{}', bounds(rules)),
    bounded: true,
    ofTenants: false,
  },
  'claim_fair_by_kind behind keys': {
    claim: async (params, fair, rules) =>
      remember(await claimFairByKind(pools.claim, ...params, ...fair, ...pastKeys(), bounds(rules)), ofPair),
    bounded: true,
    ofTenants: false,
  },
  claim_fair_of_tenants: {
    claim: (params, fair, rules) =>
      claimFairOfTenants(pools.claim, ...params, ...fair, ...noPast, '{}', bounds(rules), [...rules.tenants!]),
    bounded: true,
    ofTenants: true,
  },
  'claim_fair_of_tenants behind keys': {
    claim: async (params, fair, rules) =>
      remember(
        await claimFairOfTenants(pools.claim, ...params, ...fair, ...pastKeys(), bounds(rules), [...rules.tenants!]),
        ofPair,
      ),
    bounded: true,
    ofTenants: true,
  },
}

/** A situation drawn from a seed. */
function draw(random: () => number) {
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  const some = <T>(from: readonly T[], share: number) => from.filter(() => random() < share)
  const pairs = kinds.flatMap((kind) => tenants.map((tenant) => `${kind} ${tenant}`))
  const weights = new Map(some(tenants, 0.4).map((tenant) => [tenant, 1 + upTo(4)]))
  const excludes = random() < 0.5
  const served = random() < 0.5 ? kinds : some(kinds, 0.7)
  return {
    upTo,
    weights,
    pairs,
    some,
    rules: {
      kinds: new Set<string>(served.length > 0 ? served : kinds),
      tenants: new Set(some(tenants, 0.7)),
      excludedPairs: new Set(excludes ? some(pairs, 0.2) : []),
      excludedTenants: new Set<string>(),
      pairBounds: new Map<string, number>(),
      weightOf: (tenant: string) => weights.get(tenant) ?? 1,
    } satisfies ModelRules,
    jobs(count: number): Omit<ModelJob, 'id'>[] {
      const busy = some(tenants, 0.8)
      return Array.from({ length: count }, () => ({
        tenantId: (busy.length > 0 ? busy : tenants)[upTo(Math.max(busy.length, 1) - 1)]!,
        kind: kinds[upTo(2)]!,
        priority: upTo(2),
        dueIn: random() < 0.2 ? 1 + upTo(50) : -upTo(5),
      }))
    },
  }
}

const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, Math.floor(Math.random() * 1e9)]

describe.each(Object.keys(fairClaims))('%s brings the turns in the order of the model', (name) => {
  const { claim, bounded, ofTenants } = fairClaims[name]!

  test.each(seeds)('seed %i', async (seed) => {
    const random = seededRandom(seed)
    const situation = draw(random)
    const { upTo } = situation
    const base: ModelRules = ofTenants ? situation.rules : { ...situation.rules, tenants: null }
    let waiting = await insertJobs(situation.jobs(20 + upTo(60)))
    let turn: Turn = { tenantId: noTenant, left: 0 }
    let rotation: Rotation = firstRotation

    for (let step = 0; step < 40 || nextTurns(waiting, base, turn, 1).length > 0; step += 1) {
      if (step > 400) throw new Error(`seed ${seed}: not drained`)
      // Exclusions and bounds change from claim to claim, and more jobs come.
      const rules: ModelRules = {
        ...base,
        excludedTenants: new Set(random() < 0.2 ? situation.some(tenants, 0.3) : []),
        pairBounds: new Map(
          bounded && random() < 0.4 ? situation.some(situation.pairs, 0.3).map((pair) => [pair, 1 + upTo(2)]) : [],
        ),
      }
      if (step < 40 && random() < 0.15) waiting.push(...(await insertJobs(situation.jobs(upTo(6)))))
      const limit = 1 + upTo(random() < 0.5 ? 3 : 15)
      const expected = nextTurns(waiting, rules, turn, limit)
      const params = claimParams(worker, [...rules.kinds], limit, {
        excludedPairs: Object.fromEntries([...rules.excludedPairs].map((pair) => [pair, 1])),
        excludedTenants: Object.fromEntries([...rules.excludedTenants].map((tenant) => [tenant, 1])),
      })
      const fair: FairParams = [
        rotation.afterTenant,
        limit,
        roundsFor(limit, rotation.tenants),
        JSON.stringify(Object.fromEntries(situation.weights)),
        rotation.cutTenant,
        rotation.cutTaken,
      ]
      const rows = await claim(params, fair, rules)
      const brought = rows.map((row) => row[0])
      const where = `seed ${seed}, claim ${step}`

      // Whole rounds may be left for the next statement; what it brings is what the model has next, without a gap.
      expect(brought, where).toEqual(expected.slice(0, brought.length).map(({ job }) => job.id))
      expect(brought.length > 0, where).toBe(expected.length > 0)
      const last = expected[brought.length - 1]?.turn
      const next = expected[brought.length]?.turn
      expect(
        last === undefined || last.left === 0 || next?.tenantId !== last.tenantId || rows.length === limit,
        where,
      ).toBe(true)
      // A claim that found no more ends the turn.
      if (last !== undefined) turn = brought.length < limit ? { ...last, left: 0 } : last
      rotation = rotate(
        rotation,
        rows.map((row) => row[1]),
        limit,
        rules.weightOf,
      )
      const gone = new Set(brought)
      waiting = waiting.filter((job) => !gone.has(job.id))
    }
  })
})

describe.each([
  ['all kinds', { kinds: null, ofTenants: false }],
  ['some kinds', { kinds: ['crane', 'signal'], ofTenants: false }],
  ['some tenants', { kinds: null, ofTenants: true }],
] as const)('the dispatcher of a pool that serves %s', (_, { kinds: own, ofTenants }) => {
  test.each(seeds.slice(-6))('carries turns on over claims of any size, seed %i', async (seed) => {
    const random = seededRandom(seed)
    const situation = draw(random)
    const served = own ?? kinds
    const rules: ModelRules = {
      ...situation.rules,
      kinds: new Set(served),
      tenants: ofTenants ? situation.rules.tenants : null,
      excludedPairs: new Set(),
    }
    const claimRules = createClaimRules({ kinds: new Map(), providers: {} })
    claimRules.update(
      {
        tenants: tenants.map((id) => ({ id, closed: false, weight: rules.weightOf(id), limits: null })),
        pauses: [],
        caps: [],
        kinds: kinds.map((kind) => ({ name: kind, maxConcurrency: null })),
      },
      1,
      kinds,
    )
    const dispatcher = testDispatcher(pools.claim, worker, claimRules, {
      kinds: own,
      tenantIds: ofTenants ? [...rules.tenants!] : null,
    })
    const waiting = await insertJobs(situation.jobs(120))
    const total = nextTurns(waiting, rules, { tenantId: noTenant, left: 0 }, 1_000).map(({ job }) => job.id)
    const brought: string[] = []
    while (brought.length < total.length) {
      const shape = { ...claimRules.shape(served, performance.now()), kinds: served }
      const runs = await dispatcher.claim(1 + situation.upTo(12), shape, [])
      expect(runs.length, `seed ${seed}`).toBeGreaterThan(0)
      brought.push(...runs.map((run) => run.id))
    }
    // However it was cut into claims: one sequence.
    expect(brought, `seed ${seed}`).toEqual(total)
  })
})

describe('the order of priority', () => {
  type PriorityClaim = (params: ClaimParams, more: PriorityParams, rules: ModelRules) => Promise<ClaimedRow[]>
  const priorityClaims: Record<string, { readonly claim: PriorityClaim; readonly bounded: boolean }> = {
    claim_priority: { claim: (params, more) => claimPriority(pools.claim, ...params, ...more), bounded: false },
    claim_priority_by_kind: {
      claim: (params, more, rules) => claimPriorityByKind(pools.claim, ...params, ...more, bounds(rules)),
      bounded: true,
    },
  }
  beforeAll(async () => {
    // Two instances that start together: one builds, the other waits.
    await Promise.all([ensurePriorityIndexes(database.url), ensurePriorityIndexes(database.url)])
  })

  test.each(Object.keys(priorityClaims).flatMap((name) => seeds.slice(-6).map((seed) => [name, seed] as const)))(
    '%s, seed %i',
    async (name, seed) => {
      const random = seededRandom(seed)
      const situation = draw(random)
      const { rules, upTo } = situation
      let waiting = await insertJobs(situation.jobs(200))
      const { claim, bounded } = priorityClaims[name]!
      let past = noKey
      for (let step = 0; ; step += 1) {
        const now: ModelRules = {
          ...rules,
          pairBounds: new Map(
            bounded && step < 10 ? situation.some(situation.pairs, 0.3).map((pair) => [pair, 1 + upTo(2)]) : [],
          ),
        }
        const limit = 1 + upTo(random() < 0.7 ? 9 : 150)
        const expected = mostUrgent(waiting, now, limit).map(({ id }) => id)
        const params = claimParams(worker, [...rules.kinds], limit, {
          excludedPairs: Object.fromEntries([...rules.excludedPairs].map((pair) => [pair, 1])),
        })
        const rows = await claim(params, [[...rules.tenants], ...past], now)
        const brought = rows.map(([id]) => id)
        // A kind that was not looked at to its end bounds a large claim: it brings the first, without a gap.
        expect(brought, `seed ${seed}, claim ${step}`).toEqual(
          expected.slice(0, Math.max(rows.length, Math.min(limit, 32))),
        )
        if (rows.length === 0) break
        const last = rows.at(-1)!
        // What lies behind it is the rest of what fits, unless a bound has kept something back.
        past = now.pairBounds.size > 0 || upTo(1) === 0 ? noKey : keyOf(last)
        waiting = waiting.filter(({ id }) => !brought.includes(id))
      }
    },
  )

  test('a kind that leads is brought in order, as far as it was looked at', async () => {
    const job = { tenantId: tenants[0]!, dueIn: -1 }
    const first = await insertJobs(Array.from({ length: 100 }, () => ({ ...job, kind: 'crane', priority: 1 })))
    await insertJobs(Array.from({ length: 100 }, (_, n) => ({ ...job, kind: kinds[1 + (n % 2)]!, priority: 2 })))
    const rows = await claimPriorityByKind(pools.claim, ...claimParams(worker, kinds, 90, {}), null, ...noKey, '{}')
    expect(rows.map(([id]) => id)).toEqual(first.slice(0, 60).map(({ id }) => id))
  })
})

test('one kind fills a tenant’s turns as far as it was looked at, and all tenants get as many', async () => {
  const jobs = (tenantId: string, kind: string, count: number) =>
    Array.from({ length: count }, () => ({ tenantId, kind, priority: 1, dueIn: -1 }))
  const [one, other] = tenants as [string, string]
  await insertJobs([...jobs(one, 'crane', 40), ...kinds.flatMap((kind) => jobs(other, kind, 20))])
  const fair: FairParams = [noTenant, 30, 15, '{}', noTenant, 0]
  const rows = await claimFairByKind(pools.claim, ...claimParams(worker, kinds, 30, {}), ...fair, ...noPast, '{}', '{}')
  // Fifteen rounds fit, and 2 x 15 / 3 + 1 of each kind are looked at.
  expect(rows).toHaveLength(22)
  expect(rows.map((row) => row[1])).toEqual(Array.from({ length: 22 }, (_, n) => (n % 2 === 0 ? one : other)))
})

test('four claimers at once, 10,000 jobs: none twice, none left', async () => {
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision)
     select ($1::uuid[])[1 + n % 8], ($2::text[])[1 + n % 3], 1 from generate_series(1, 10000) n`,
    [tenants, kinds],
  )
  const seen: string[] = []
  const claimers = [1, 2, 3, 4].map(async (nr) => {
    const own = createPools(database.url)
    let rotation = firstRotation
    while (seen.length < 10_000) {
      const limit = 50 * nr
      const fair: FairParams = [
        rotation.afterTenant,
        limit,
        roundsFor(limit, rotation.tenants),
        '{}',
        rotation.cutTenant,
        rotation.cutTaken,
      ]
      const params = claimParams(worker, kinds, limit)
      const answer =
        nr % 2 === 0
          ? await claimFair(own.claim, ...params, ...fair, ...noPast, false)
          : await claimFairByKind(own.claim, ...params, ...fair, ...noPast, '{}', '{}')
      const rows = heldUpBy(answer) === null ? answer : []
      rotation = rotate(
        rotation,
        rows.map((row) => row[1]),
        limit,
        () => 1,
      )
      seen.push(...rows.map((row) => row[0]))
    }
    await own.end()
  })
  await Promise.all(claimers)
  expect(seen).toHaveLength(10_000)
  expect(new Set(seen).size).toBe(10_000)
  const [left] = await database.sql<{ left: number; runs: number; listed: number }>(
    `select count(*) filter (where status <> 'running')::int as left, sum(runs)::int as runs,
            (select sum(cardinality(job_ids))::int from mdm.aa_claim) as listed from mdm.aa_job`,
  )
  expect(left).toEqual({ left: 0, runs: 10_000, listed: 10_000 })
})

test('the first job of a claim may be changed before it is locked: it stays, and the others are known', async () => {
  const [tenantId] = tenants as [string]
  const jobs = await insertJobs([1, 2, 3].map((priority) => ({ tenantId, kind: 'crane', priority, dueIn: -1 })))
  // As the lock finds it: the row's new place, which the statement's snapshot does not see.
  const claim = claimStatement<ClaimParams>(
    'claim_beside_a_change',
    `with picked as materialized (
  select j.id, case when j.priority = 1 then '(9999,1)'::tid else j.ctid end as tid from mdm.aa_job j
   where j.job_kind = any ($4::text[]) and j.lane = 0 and $6::jsonb = $7::jsonb order by j.priority limit $5::int),
${moveCapped}`,
  )
  const rows = await claim(pools.claim, ...claimParams(worker, kinds, 3))
  const [stored] = await database.sql<{ id: string }>('select id::text from mdm.aa_claim')
  expect(rows.map((row) => [row[0], row[12]])).toEqual(jobs.slice(1).map(({ id }) => [id, stored!.id]))
  expect(await database.sql(`select id from mdm.aa_job where status = 'pending'`)).toEqual([{ id: jobs[0]!.id }])
})

test('N01: a tenant with 5,000 jobs delays another by one round', async () => {
  const [a, b] = tenants as [string, string]
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision) select $1, 'crane', 1 from generate_series(1, 5000)`,
    [a],
  )
  let rotation = firstRotation
  const claim = async (limit: number) => {
    const fair: FairParams = [
      rotation.afterTenant,
      limit,
      roundsFor(limit, rotation.tenants),
      '{}',
      rotation.cutTenant,
      rotation.cutTaken,
    ]
    const rows = await claimFair(pools.claim, ...claimParams(worker, kinds, limit), ...fair, ...noPast, false)
    rotation = rotate(
      rotation,
      rows.map((row) => row[1]),
      limit,
      () => 1,
    )
    return rows.map((row) => row[1])
  }
  expect(new Set([...(await claim(1)), ...(await claim(4)), ...(await claim(4))])).toEqual(new Set([a]))
  await insertJobs([{ tenantId: b, kind: 'lock', priority: 1_000, dueIn: 0 }])
  expect((await claim(2)).toSorted()).toEqual([a, b].toSorted())
})

test('a claim tells when each job was made and when it was due, also where that is the same', async () => {
  const [a] = tenants as [string]
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision, created_at, available_at)
     values ($1, 'crane', 1, '2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'), ($1, 'crane', 1, '2026-01-02T03:04:05.678Z', '2026-01-02T04:00:00.123456Z')`,
    [a],
  )
  const fair: FairParams = [noTenant, 2, 2, '{}', noTenant, 0]
  const rows = await claimFair(pools.claim, ...claimParams(worker, kinds, 2), ...fair, ...noPast, false)
  const made = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
  expect(rows.map((row) => [row[7], row[8]])).toEqual([
    [made, made],
    [made, Date.UTC(2026, 0, 2, 4, 0, 0, 123) + 0.456],
  ])
  expect(rows.map((row) => keyOf(row)[1])).toEqual([made * 1_000, Date.UTC(2026, 0, 2, 4) * 1_000 + 123_456])
})

describe('P02: no claim ever scans the table', () => {
  const text = (value: string | number | boolean | null | readonly string[]): string =>
    value === null
      ? 'null'
      : typeof value === 'object'
        ? `'{${value.join(',')}}'`
        : typeof value !== 'string'
          ? String(value)
          : `'${value}'`
  const fair = [noTenant, 50, 2, '{}', noTenant, 0]
  const past = [[noTenant], ['5'], ['1700000000000000'], [noTenant]]
  const claims = [
    { statement: claimFair, params: [...fair, ...past, true], index: 'aa_job_by_tenant' },
    { statement: claimFairByKind, params: [...fair, ...past, ['crane'], '{}'], index: 'aa_job_by_kind' },
    { statement: claimFairOfTenants, params: [...fair, ...past, ['crane'], '{}', [noTenant]], index: 'aa_job_by_kind' },
    { statement: claimPriority, params: [null, ...noKey], index: 'aa_job_by_priority' },
    {
      statement: claimPriorityByKind,
      params: [null, ...noKey, '{}'],
      index: 'aa_job_by_kind_priority',
      // For pairs whose bucket is in use: either gives them in order.
      besides: ['aa_job_by_kind', 'aa_job_by_tenant'],
    },
  ]

  test.each(claims)(
    '$statement.statementName: on a fresh table, on the tenth run over 20,000 rows, where nothing was due before, and by its index',
    async ({ statement, params, index, besides = [] }) => {
      const fresh = await testDatabase()
      try {
        await ensurePriorityIndexes(fresh.url)
        const sessions = createPools(fresh.url)
        const client = await sessions.claim.connect()
        const call = `execute claim(${[...claimParams(worker, kinds, 50), ...params].map(text).join(', ')})`
        const plan = async () =>
          (await client.query<{ 'QUERY PLAN': string }>(`explain ${call}`)).rows
            .map((row) => row['QUERY PLAN'])
            .join('\n')
        await client.query(`prepare claim as ${statement.text}`)
        const empty = await plan()
        const [tenant] = await fresh.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
        const fill = () =>
          fresh.sql(
            `insert into mdm.aa_job (tenant_id, job_kind, revision) select $1, ($2::text[])[1 + n % 3], 1 from generate_series(1, 20000) n`,
            [tenant!.id, kinds],
          )
        await fill()
        for (let nth = 0; nth < 10; nth += 1) await client.query(call)
        const tenth = await plan()
        await client.query('deallocate claim')
        await client.query('analyze mdm.aa_job')
        await client.query(`prepare claim as ${statement.text}`)
        const analyzed = await plan()
        // What was analyzed while nothing was due, is planned as if a job or two were: to read an index that is not in order and sort seems as cheap.
        await fresh.sql(`update mdm.aa_job set status = 'done', completed_at = now(), revision = revision + 1`)
        await client.query('deallocate claim')
        await client.query('analyze mdm.aa_job')
        await fill()
        await client.query(`prepare claim as ${statement.text}`)
        const unknown = await plan()
        client.release()
        await sessions.end()
        for (const [when, each] of Object.entries({ empty, tenth, analyzed, unknown })) {
          expect(each, when).not.toMatch(/(?:Seq|Bitmap Heap) Scan on aa_job\b/)
          const indexes = [...each.matchAll(/Index (?:Only )?Scan using (\w+) on aa_job\b/g)].map(([, used]) => used)
          expect(new Set(indexes.filter((used) => !besides.includes(used!))), `${when}: ${each}`).toEqual(
            new Set([index]),
          )
        }
      } finally {
        await fresh.drop()
      }
    },
  )

  test('the look for due kinds is a probe for each, also where the statistics know one kind only', async () => {
    const fresh = await testDatabase()
    try {
      await registerTestKinds(fresh.pool, [...kinds, 'never_due'])
      await fresh.sql(
        `insert into mdm.aa_job (tenant_id, job_kind, revision) select id, 'crane', 1 from mdm.aa_tenant, generate_series(1, 20000) where tenant_key = 'default'`,
      )
      await fresh.sql('vacuum analyze mdm.aa_job')
      const sessions = createPools(fresh.url)
      await sessions.claim.query(`prepare look as ${findDueKinds.text}`)
      const { rows } = await sessions.claim.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers, costs off, timing off) execute look('{}')`,
      )
      await sessions.end()
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      const used = [...plan.matchAll(/Scan using (\w+) on aa_job\b/g)].map(([, index]) => index)
      expect(used, plan).toEqual(['aa_job_by_kind'])
      // Three or four pages for each of the kinds; the index has 200.
      expect(Number(/Buffers: shared hit=(\d+)/.exec(plan)![1]), plan).toBeLessThan(120)
    } finally {
      await fresh.drop()
    }
  })
})
