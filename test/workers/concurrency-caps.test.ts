import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readConcurrencyLimits } from '../../src/sql/read-concurrency-limits.ts'
import { setConcurrencyLimit } from '../../src/sql/set-concurrency-limit.ts'
import { defineKind, type OwnKind } from '../../src/workers/define-kind.ts'
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

/** What the handlers of all engines of a test are doing. */
interface Floor {
  now: number
  most: number
  readonly of: Map<string, { now: number; most: number }>
}

function floor(): Floor {
  return { now: 0, most: 0, of: new Map() }
}

/** A kind whose handlers say where they are; they end after `ms`, or when `gate` opens. */
function counting(
  name: string,
  on: Floor,
  end: () => Promise<unknown> = () => wait(2),
  maxConcurrency: number | null = null,
): OwnKind {
  return defineKind({
    name,
    payload: z.looseObject({}),
    defaults: { maxConcurrency },
    async run({ job }) {
      const key = `${name} ${job.tenantId}`
      const own = on.of.get(key) ?? { now: 0, most: 0 }
      on.of.set(key, own)
      for (const each of [on, own]) {
        each.now += 1
        each.most = Math.max(each.most, each.now)
      }
      await end()
      for (const each of [on, own]) each.now -= 1
    },
  })
}

async function start(kinds: readonly OwnKind[], given: Parameters<typeof startEngine>[2] = {}): Promise<TestEngine> {
  const engine = await startEngine(database, kinds, given)
  engines.push(engine)
  return engine
}

async function enqueue(kind: string, count: number, tenant = 'default', priority: number | null = null): Promise<void> {
  await database.sql(
    `select count(*) from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', $1::text, 'payload', '{}'::jsonb, 'tenant', $2::text, 'priority', $4::int)) from generate_series(1, $3))) e`,
    [kind, tenant, count, priority],
  )
}

async function tenant(key: string): Promise<string> {
  const [row] = await database.sql<{ id: string }>(
    'insert into mdm.aa_tenant (tenant_key, name) values ($1, $1) returning id',
    [key],
  )
  return row!.id
}

const cap = (kind: string | null, tenantId: string | null, max: number | null) =>
  setConcurrencyLimit(database.pool, kind, tenantId, max, 'user:ada', 'r')
const statuses = async () => {
  const rows = await database.sql<{ status: string; jobs: number }>(
    'select status::text, count(*)::int as jobs from mdm.aa_job group by status',
  )
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]))
}
const allDone = (count: number) =>
  until(async () => (await statuses())['done'] === count, `${count} jobs are done`, 25_000)

test('two instances with 16 slots each never run more of a capped kind than allowed, and all jobs end', async () => {
  const on = floor()
  const kinds = [counting('heavy', on, undefined, 5)]
  await start(kinds, { slots: 16 })
  await enqueue('heavy', 400)
  await start(kinds, { slots: 16 })
  await allDone(400)
  expect(on.most).toBe(5)
  expect(
    await database.sql(
      `select from mdm.aa_audit_log where action <> 'job_enqueued' and action <> 'job_done' and job_id is not null`,
    ),
  ).toEqual([])
})

test('a tenant that is alone has all the slots that its cap allows, more than its share', async () => {
  const on = floor()
  const gate = Promise.withResolvers<void>()
  // Its share is half: there may always be one more tenant. Nothing but what runs tells of room.
  await start([counting('heavy', on, () => gate.promise, 14)], { slots: 16, pollMs: 60_000 })
  await enqueue('heavy', 8)
  await until(() => on.now === 8, 'it holds its share')
  await enqueue('heavy', 32)
  await until(() => on.now === 14, 'as many run as may', 3_000)
  gate.resolve()
  await allDone(40)
  expect(on.most).toBe(14)
})

test('a cap of one, on four instances', async () => {
  const on = floor()
  const kinds = [counting('heavy', on, () => wait(1), 1)]
  await Promise.all([1, 2, 3].map(() => start(kinds, { slots: 4 })))
  await enqueue('heavy', 60)
  await allDone(60)
  expect(on.most).toBe(1)
})

test('a tenant, a pair and a kind may be capped together: each holds', async () => {
  const [acme, globex] = [await tenant('acme'), await tenant('globex')]
  const on = floor()
  const kinds = [counting('heavy', on, () => wait(3)), counting('light', on, () => wait(3))]
  await cap('heavy', null, 6)
  await cap(null, acme, 4)
  await cap('heavy', acme, 2)
  await start(kinds, { slots: 20 })
  await start(kinds, { slots: 20 })
  for (const key of ['acme', 'globex']) for (const kind of ['heavy', 'light']) await enqueue(kind, 60, key)
  let mostOfHeavy = 0
  let mostOfAcme = 0
  const of = (key: string) => on.of.get(key)?.now ?? 0
  const watching = setInterval(() => {
    mostOfHeavy = Math.max(mostOfHeavy, of(`heavy ${acme}`) + of(`heavy ${globex}`))
    mostOfAcme = Math.max(mostOfAcme, of(`heavy ${acme}`) + of(`light ${acme}`))
  }, 1)
  await allDone(240)
  clearInterval(watching)
  expect(on.of.get(`heavy ${acme}`)!.most).toBeLessThanOrEqual(2)
  expect(mostOfHeavy).toBeLessThanOrEqual(6)
  expect(mostOfAcme).toBeLessThanOrEqual(4)
  expect(on.of.get(`light ${globex}`)!.most).toBeGreaterThan(4)
})

describe('a cap that changes', () => {
  test('raised wakes who waits; lowered stops nobody', async () => {
    const on = floor()
    const gates: (() => void)[] = []
    const gate = () => new Promise<void>((resolve) => gates.push(resolve))
    await cap('heavy', null, 2)
    await start([counting('heavy', on, gate)], { slots: 20, pollMs: 60_000 })
    await enqueue('heavy', 20)
    await until(() => on.now === 2, 'two run')
    await cap('heavy', null, 5)
    await until(() => on.now === 5, 'five run', 1_500)
    expect(await readConcurrencyLimits(database.pool, null)).toEqual([
      { kind: 'heavy', tenantId: null, max: 5, running: 5 },
    ])
    await cap('heavy', null, 1)
    on.most = 0
    for (const open of gates.splice(0)) open()
    // Six more, one after the other: each start is the only one.
    for (let done = 5; done < 11; done += 1) {
      await until(() => gates.length === 1, `job ${done + 1} runs`)
      gates.pop()!()
    }
    expect(on.most).toBe(1)
    await cap('heavy', null, null)
    await until(() => on.now === 9, 'all others run', 1_500)
    for (const open of gates.splice(0)) open()
    await allDone(20)
  })

  test("a set cap goes before the kind's own, and its end brings that back", async () => {
    const on = floor()
    const gate = Promise.withResolvers<void>()
    await start([counting('heavy', on, () => gate.promise, 3)], { slots: 10 })
    await cap('heavy', null, 4)
    expect(await readConcurrencyLimits(database.pool, null)).toMatchObject([{ kind: 'heavy', max: 4 }])
    await cap('heavy', null, null)
    expect(await readConcurrencyLimits(database.pool, null)).toMatchObject([{ kind: 'heavy', max: 3 }])
    gate.resolve()
  })
})

test('the end of a capped job in one instance wakes the other, without its poll', async () => {
  const on = floor()
  const gates: (() => void)[] = []
  const kinds = [counting('heavy', on, () => new Promise<void>((resolve) => gates.push(resolve)), 1)]
  await start(kinds, { slots: 1, pollMs: 60_000 })
  await enqueue('heavy', 2)
  await until(() => gates.length === 1, 'one runs')
  await start(kinds, { slots: 1, pollMs: 60_000 })
  await engines[0]!.engine.stop(0).catch(() => undefined)
  gates[0]!()
  await until(() => gates.length === 2, 'the other runs the next', 2_500)
  expect(engines[1]!.told.filter(({ type }) => type === 'jobs:claimed')).toHaveLength(1)
  gates[1]!()
})

test('what is not capped does not wait behind what is, nor the other way round', async () => {
  const on = floor()
  const kinds = [counting('heavy', on, () => wait(5), 2), counting('light', on, () => wait(1))]
  await start(kinds, { slots: 4 })
  await enqueue('heavy', 60)
  await enqueue('light', 2_000)
  await allDone(2_060)
  const rows = await database.sql<{ job_kind: string }>(
    `select job_kind from mdm.aa_audit_log where action = 'job_done' order by id`,
  )
  const kindsDone = rows.map((row) => row.job_kind)
  const tenthHeavy = kindsDone.findIndex(
    (_, i) => kindsDone.slice(0, i + 1).filter((kind) => kind === 'heavy').length === 10,
  )
  const tenthLight = kindsDone.findIndex(
    (_, i) => kindsDone.slice(0, i + 1).filter((kind) => kind === 'light').length === 10,
  )
  expect(tenthHeavy).toBeLessThan(kindsDone.lastIndexOf('light'))
  expect(tenthLight).toBeLessThan(kindsDone.lastIndexOf('heavy'))
})

test('dispatch by priority holds the caps too', async () => {
  const on = floor()
  const kinds = [counting('heavy', on, () => wait(1), 2)]
  await start(kinds, { pools: [{ name: 'default', slots: 8, kinds: null, tenantIds: null, dispatch: 'priority' }] })
  await enqueue('heavy', 20, 'default', 200)
  await enqueue('heavy', 20, 'default', 10)
  await allDone(40)
  expect(on.most).toBe(2)
})
