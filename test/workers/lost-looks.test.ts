import { setTimeout as wait } from 'node:timers/promises'
import type { QueryConfig } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { pauseQueue } from '../../src/sql/pause-queue.ts'
import { defineKind, type KindDefinition, type OwnKind } from '../../src/workers/define-kind.ts'
import type { Dispatcher } from '../../src/workers/dispatcher.ts'
import { createKindRooms } from '../../src/workers/kind-rooms.ts'
import { createRoomDispatcher } from '../../src/workers/room-dispatcher.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

// No poll helps: what is due and may run is found by whoever knows when that begins.

let database: TestDatabase
const engines: TestEngine[] = []
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((each) => each.stop(0)))
  await database.drop()
})

const anything = z.looseObject({})
const started: string[] = []
beforeEach(() => void started.splice(0))

/** A kind that notes its starts, and lasts for 2 ms or as long as it is told. */
function kind(
  name: string,
  defaults: KindDefinition<typeof anything>['defaults'] = {},
  last: () => Promise<unknown> = () => wait(2),
): OwnKind {
  return defineKind({
    name,
    payload: anything,
    defaults,
    async run() {
      started.push(name)
      await last()
    },
  })
}

async function start(kinds: readonly OwnKind[], slots = 4): Promise<TestEngine> {
  // One that has no cap: its claims are counted.
  const engine = await startEngine(database, [...kinds, kind('other')], { pollMs: 60_000, slots })
  engines.push(engine)
  await until(() => engine.claims.length > 0, 'the first look has found nothing')
  return engine
}

const enqueue = (...jobs: readonly object[]): Promise<unknown> =>
  database.sql('select count(*) from mdm.enqueue_jobs($1::jsonb) e', [
    JSON.stringify(jobs.map((job) => ({ payload: {}, ...job }))),
  ])
const times = (count: number, job: object): object[] => Array.from({ length: count }, () => job)

async function pauseFor(ms: number, engine: TestEngine): Promise<void> {
  const [tenant] = await database.sql<{ id: string; until: Date }>(
    `select id, now() + $1::int * interval '1 millisecond' as until from mdm.aa_tenant where tenant_key = 'default'`,
    [ms],
  )
  await pauseQueue(database.pool, null, tenant!.id, tenant!.until, null, 'user:ada', 'request')
  await engine.rulesInForce()
}

const capped = { maxConcurrency: 4 }

test('a kind with a cap and a rate limit goes on as soon as there are tokens', async () => {
  await start([kind('letter', { ...capped, rateLimit: { rps: 5, burst: 3 } })])
  await enqueue(...times(8, { kind: 'letter' }))
  expect(await until(() => started.length === 8, 'all have started', 5_000)).toBe(true)
})

test.each([
  ['a cap over all instances', kind('letter', capped)],
  ['a cap per instance', { ...kind('letter'), perInstance: 2 }],
])('with %s too the end of a pause is noticed, though one has just looked', async (_, letter) => {
  const engine = await start([letter])
  await pauseFor(500, engine)
  await enqueue({ kind: 'letter' })
  expect(await until(() => started.length === 1, 'it has started', 5_000)).toBe(true)
})

test('a pause that ends while a claim is under way has ended', async () => {
  const engine = await start([kind('letter')])
  await pauseFor(700, engine)
  const query = engine.pools.claim.query.bind(engine.pools.claim) as (config: QueryConfig) => Promise<unknown>
  let slowOnes = 0
  engine.pools.claim.query = (async (config: QueryConfig) => {
    const result = await query(config)
    // Asked for without the tenant, answered when its pause is over.
    if (config.name?.startsWith('claim_') && (slowOnes += 1) === 1) await wait(1_000)
    return result
  }) as typeof engine.pools.claim.query
  await enqueue({ kind: 'letter' })
  expect(await until(() => started.length === 1, 'it has started', 5_000)).toBe(true)
})

test('who is passed over since others come first is not forgotten when those took the last tokens', async () => {
  const gate = Promise.withResolvers<void>()
  await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('first', 'First'), ('second', 'Second')`)
  const engine = await start([
    kind('long', {}, () => gate.promise),
    kind('letter'),
    kind('limited', { rateLimit: { rps: 0.01, burst: 1 } }),
  ])
  await enqueue(...times(2, { kind: 'long', tenant: 'first' }))
  await until(() => started.length === 2, 'the first has its share of the slots')
  await until(() => engine.claims.at(-1) === 0, 'it was looked whether there is more')
  await enqueue({ kind: 'letter', tenant: 'first' }, { kind: 'limited', tenant: 'second' })
  expect(await until(() => started.includes('letter'), 'it has started', 5_000)).toBe(true)
  gate.resolve()
})

test('what had no place in the turns of its tenant is not forgotten when those took the last tokens', async () => {
  await start([kind('letter'), kind('limited', { rateLimit: { rps: 0.01, burst: 2 } })], 200)
  await enqueue(...times(2, { kind: 'limited', priority: 1 }), { kind: 'letter', priority: 50 })
  expect(await until(() => started.includes('letter'), 'it has started', 5_000)).toBe(true)
})

test('a job that somebody held when its time came is promoted once it is let go', async () => {
  await start([kind('letter')])
  await enqueue({ kind: 'letter', available_at: new Date(Date.now() + 700) })
  const client = await database.pool.connect()
  await client.query('begin; select from mdm.aa_job for update')
  const looked = `select from mdm.aa_job where available_at < clock_timestamp() - interval '300 milliseconds'`
  await until(async () => (await database.sql(looked)).length > 0, 'its time has come, and the promoter')
  await client.query('rollback')
  client.release()
  expect(await until(() => started.length === 1, 'it has started', 5_000)).toBe(true)
})

test('kinds with a cap per instance are asked for again where another claim had its turn', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const rooms = createKindRooms(new Map([['heavy', { kind: { perInstance: 1 }, handler: async () => {} } as never]]))
    let asked = 0
    const fake = (given: Partial<Dispatcher>): Dispatcher => ({
      claim: async () => [],
      tookAll: () => true,
      wasCut: () => false,
      wake: () => {},
      isHeldUp: () => false,
      retryInMs: () => null,
      ...given,
    })
    const roomed = fake({
      async claim() {
        asked += 1
        return []
      },
      isHeldUp: () => asked === 1,
      retryInMs: () => (asked === 1 ? 3 : null),
    })
    const dispatcher = createRoomDispatcher({ rooms, free: fake({}), roomed })
    const shape = { kinds: ['heavy', 'light'] } as unknown as Parameters<Dispatcher['claim']>[1]
    await dispatcher.claim(4, shape, [])
    // As the loop does, which looks again when it is told to.
    while (asked === 1) {
      const inMs = dispatcher.retryInMs()
      expect(inMs).not.toBeNull()
      vi.advanceTimersByTime(inMs!)
      await dispatcher.claim(4, shape, [])
    }
    expect(dispatcher.retryInMs()).toBeNull()
  } finally {
    vi.useRealTimers()
  }
})
