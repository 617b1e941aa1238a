import type { Socket } from 'node:net'
import { Client, type Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { createEvents } from '../../src/jobs/event.ts'
import { noKey, type ClaimParams } from '../../src/sql/claim-parts.ts'
import { claimFairByKind } from '../../src/sql/claim-fair-by-kind.ts'
import { claimFairOfTenants } from '../../src/sql/claim-fair-of-tenants.ts'
import { claimFair, type FairParams } from '../../src/sql/claim-fair.ts'
import { claimPriorityByKind } from '../../src/sql/claim-priority-by-kind.ts'
import { claimPriority } from '../../src/sql/claim-priority.ts'
import { heldUpBy, type ClaimedRow } from '../../src/sql/claimed-row.ts'
import { endStuckClaims } from '../../src/sql/end-stuck-claims.ts'
import { promoteJobs } from '../../src/sql/promote-jobs.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { createClaimRules } from '../../src/workers/claim-rules.ts'
import { defineKind } from '../../src/workers/define-kind.ts'
import { createKindRooms } from '../../src/workers/kind-rooms.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { createRoomDispatcher } from '../../src/workers/room-dispatcher.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import {
  claimParams,
  noPast,
  noTenant,
  registerTestKinds,
  testDispatcher,
  testTenant,
  testWorker,
  type TestWorker,
} from './support.ts'

// Claims go one after the other, over all instances: two at once look at one another's jobs anew, ten times as dear as to claim them.

const kinds = ['crane']
let database: TestDatabase
let pools: Pools
let worker: TestWorker
let tenants: string[]

beforeAll(async () => {
  database = await testDatabase()
  pools = createPools(database.url)
  await ensurePriorityIndexes(database.url)
  await registerTestKinds(database.pool, kinds)
  worker = await testWorker(database.pool)
  tenants = await Promise.all(Array.from({ length: 10 }, () => testTenant(database)))
})
afterAll(async () => {
  await pools.end()
  await database.drop()
})
beforeEach(async () => {
  await database.sql('truncate mdm.aa_job, mdm.aa_claim')
  await database.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision, payload) select t, 'crane', 1, '{}' from unnest($1::uuid[]) t, generate_series(1, 20)`,
    [tenants],
  )
})

const fair: FairParams = [noTenant, 10, 1, '{}', noTenant, 0]
const forms: Record<string, (db: Queryable, params: ClaimParams) => Promise<ClaimedRow[]>> = {
  claim_fair: (db, params) => claimFair(db, ...params, ...fair, ...noPast, false),
  claim_fair_by_kind: (db, params) => claimFairByKind(db, ...params, ...fair, ...noPast, '{}', '{}'),
  claim_fair_of_tenants: (db, params) => claimFairOfTenants(db, ...params, ...fair, ...noPast, '{}', '{}', tenants),
  claim_priority: (db, params) => claimPriority(db, ...params, null, ...noKey),
  claim_priority_by_kind: (db, params) => claimPriorityByKind(db, ...params, null, ...noKey, '{}'),
  'claim_priority_by_kind of a pair with a bucket': (db, params) =>
    claimPriorityByKind(db, ...params, null, ...noKey, JSON.stringify({ [`crane ${tenants[0]!}`]: 3 })),
}

const holdsTurn = `select pg_advisory_xact_lock(hashtextextended('stellwerk claim', 0))`
const waitInLine = `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`

const inSession = async <Answer>(work: (session: Client) => Promise<Answer>): Promise<Answer> => {
  const session = new Client({ connectionString: database.url })
  await session.connect()
  try {
    return await work(session)
  } finally {
    await session.end()
  }
}

test.each(Object.entries(forms))('%s: nothing while another claim has its turn', async (_, claim) => {
  const params = (): ClaimParams => claimParams(worker, kinds, 10)
  await inSession(async (other) => {
    await other.query('begin')
    expect(await claim(other, params())).toHaveLength(10)
    expect(heldUpBy(await claim(pools.claim, params()))).toBe('busy')
    expect(await database.sql('select from mdm.aa_claim')).toHaveLength(0)
    await other.query('commit')
  })
  expect(await claim(pools.claim, params())).toHaveLength(10)
  expect(await database.sql(`select from mdm.aa_job where status = 'running'`)).toHaveLength(20)
})

test.each(Object.entries(forms))('%s: nothing where another one has claimed since the snapshot', async (_, claim) => {
  const params = (): ClaimParams => claimParams(worker, kinds, 10)
  await inSession(async (late) => {
    await late.query('begin isolation level repeatable read')
    await late.query('select')
    expect(await claim(pools.claim, params())).toHaveLength(10)
    expect(heldUpBy(await claim(late, params()))).toBe('busy')
    await late.query('rollback')
  })
})

test('a database that came from the dump of another server claims: its last transaction lies in the future here', async () => {
  await database.sql(`select setval('mdm.aa_claim_last', 1000000000000)`)
  const params = (): ClaimParams => claimParams(worker, kinds, 10)
  expect(await forms['claim_fair']!(pools.claim, params())).toHaveLength(10)
  const [last] = await database.sql<{ last: number }>('select last_value::int as last from mdm.aa_claim_last')
  expect(last!.last).toBeLessThan(1_000_000)
})

test('a claim that was held up leaves the rotation and the size of the next one as they were', async () => {
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const dispatcher = testDispatcher(pools.claim, worker, rules)
  const claim = () => dispatcher.claim(100, rules.shape(kinds, performance.now()), [])
  // Two rounds, while no tenant is known.
  expect(await claim()).toHaveLength(20)
  expect(await claim()).toHaveLength(100)
  await inSession(async (other) => {
    await other.query('begin')
    await other.query(holdsTurn)
    expect(await claim()).toEqual([])
    expect(dispatcher.isHeldUp()).toBe(true)
    expect(dispatcher.tookAll()).toBe(false)
    // Soon, since the other one's turn is short.
    expect(dispatcher.retryInMs()).toBeLessThan(40)
    await other.query('rollback')
  })
  expect(await claim()).toHaveLength(80)
  expect(dispatcher.isHeldUp()).toBe(false)
})

test('who gets few jobs and was held up waits in line, and comes before those who only try', async () => {
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const claimOf = (pool: Pool) => {
    const dispatcher = testDispatcher(pool, worker, rules)
    return () => dispatcher.claim(100, rules.shape(kinds, performance.now()), [])
  }
  const others = createPools(database.url)
  try {
    const [few, many] = [claimOf(pools.claim), claimOf(others.claim)]
    // Two rounds, while no tenant is known; then as many as are wanted.
    expect([await few(), await many(), await many()].map(({ length }) => length)).toEqual([20, 20, 100])
    await inSession(async (other) => {
      await other.query('begin')
      await other.query(holdsTurn)
      for (let i = 0; i < 3; i += 1) {
        expect(await few()).toEqual([])
        expect(await many()).toEqual([])
      }
      const waiting = few()
      await until(async () => (await database.sql(waitInLine)).length === 1, 'it waits in line')
      expect(await many()).toEqual([])
      await other.query('rollback')
      expect(await waiting).toHaveLength(60)
    })
  } finally {
    await others.end()
  }
})

test('who waits in line does not wait for a turn that does not end: the claim fails, and the next one waits again', async () => {
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const dispatcher = testDispatcher(pools.claim, worker, rules)
  const claim = () => dispatcher.claim(4, rules.shape(kinds, performance.now()), [])
  await inSession(async (other) => {
    await other.query('begin')
    await other.query(holdsTurn)
    for (let i = 0; i < 3; i += 1) expect(await claim()).toEqual([])
    await expect(claim()).rejects.toMatchObject({ code: '55P03' })
    const waiting = claim()
    await until(async () => (await database.sql(waitInLine)).length === 1, 'it waits in line')
    await other.query('rollback')
    expect(await waiting).toHaveLength(4)
  })
})

test('a kind with a cap per instance that is not asked for any more holds nobody up', async () => {
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const dispatcher = () => testDispatcher(pools.claim, worker, rules)
  const heavy = defineKind({ name: 'heavy', payload: z.object({}), run: async () => {} })
  const rooms = createKindRooms(new Map([['heavy', { kind: { ...heavy, perInstance: 1 }, handler: heavy.run }]]))
  const both = createRoomDispatcher({ rooms, free: dispatcher(), roomed: dispatcher() })
  const claim = (served: readonly string[]) => both.claim(4, rules.shape(served, performance.now()), [])
  await inSession(async (other) => {
    await other.query('begin')
    await other.query(holdsTurn)
    expect(await claim(['crane', 'heavy'])).toEqual([])
    expect(both.isHeldUp()).toBe(true)
    await other.query('rollback')
  })
  // The kind was paused since.
  expect(await claim(['crane'])).toHaveLength(4)
  expect(both.isHeldUp()).toBe(false)
  expect(both.retryInMs()).toBeNull()
})

test('what the first of two claims brought is received before the second has answered', async () => {
  const rules = createClaimRules({ kinds: new Map(), providers: {} })
  const heavy = defineKind({ name: 'heavy', payload: z.object({}), run: async () => {} })
  const rooms = createKindRooms(new Map([['heavy', { kind: { ...heavy, perInstance: 1 }, handler: heavy.run }]]))
  const received: string[] = []
  const dispatcher = () =>
    testDispatcher(pools.claim, worker, rules, { receive: (runs) => received.push(...runs.map(({ kind }) => kind)) })
  const both = createRoomDispatcher({ rooms, free: dispatcher(), roomed: dispatcher() })
  const others = Promise.withResolvers<void>()
  void rooms.alone(() => others.promise)
  const claim = both.claim(4, rules.shape(['crane', 'heavy'], performance.now()), [])
  await until(() => received.length === 4, 'four are received')
  others.resolve()
  expect(await claim).toHaveLength(4)
  expect(received).toEqual(['crane', 'crane', 'crane', 'crane'])
})

test('a session whose process does not take its answer loses its turn, and what it was about to claim', async () => {
  // More than the sockets between the two hold.
  await database.sql(`update mdm.aa_job set payload = jsonb_build_object('x', repeat('x', 60000))`)
  const frozen = new Client({ connectionString: database.url })
  frozen.on('error', () => undefined)
  const ended = new Promise<void>((resolve) => frozen.once('end', resolve))
  await frozen.connect()
  const [session] = (await frozen.query<{ pid: number }>('select pg_backend_pid() as pid')).rows
  const claim = forms['claim_fair']!(frozen, claimParams(worker, kinds, 200))
  claim.catch(() => undefined)
  const { stream } = (frozen as unknown as { connection: { stream: Socket } }).connection
  stream.pause()
  try {
    const waits = `select from pg_stat_activity where pid = $1 and wait_event = 'ClientWrite'`
    await until(async () => (await database.sql(waits, [session!.pid])).length === 1, 'it waits for its reader')
    expect(heldUpBy(await forms['claim_fair']!(pools.claim, claimParams(worker, kinds, 10)))).toBe('busy')
    expect(await endStuckClaims(database.pool, 60_000)).toEqual([])
    expect(await database.sql(waits, [session!.pid])).toHaveLength(1)
    const maintenance = createMaintenance({
      pool: database.pool,
      events: createEvents(() => undefined),
      everyMs: 60_000,
      deadAfterMs: 60_000,
      longestClaimMs: 0,
      onRecovered: () => undefined,
    })
    await maintenance.runOnce()
    await until(
      async () => heldUpBy(await forms['claim_fair']!(pools.claim, claimParams(worker, kinds, 10))) === null,
      'the others claim',
    )
    expect(await database.sql(`select from mdm.aa_job where status = 'pending'`)).toHaveLength(190)
  } finally {
    stream.resume()
    await ended
  }
})

test('one instance at a time promotes', async () => {
  await database.sql(`update mdm.aa_job set deferred = true, available_at = now() - interval '1 second'`)
  await inSession(async (other) => {
    await other.query('begin')
    expect(await promoteJobs(other, 50)).toMatchObject([{ promoted: 50 }])
    expect(await promoteJobs(database.pool, 1_000)).toMatchObject([{ promoted: 0 }])
    await other.query('commit')
  })
  expect(await promoteJobs(database.pool, 1_000)).toMatchObject([{ promoted: 150 }])
})
