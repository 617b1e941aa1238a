import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createKindRooms } from '../../src/workers/kind-rooms.ts'
import { defineKind, type OwnKind } from '../../src/workers/define-kind.ts'
import type { PoolSpec } from '../../src/workers/dispatcher.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

// `perInstance`: at most so many runs of a kind at once in one process, over all its pools.

let database: TestDatabase
const engines: TestEngine[] = []
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  await Promise.all(engines.splice(0).map((each) => each.stop(0)))
  await database.drop()
})

const running = new Map<string, { now: number; most: number }>()
beforeEach(() => running.clear())

/** A built-in kind may have a cap per instance; one's own has none. */
function counting(name: string, perInstance: number | null, end: () => Promise<unknown> = () => wait(3)): OwnKind {
  const kind = defineKind({
    name,
    payload: z.looseObject({}),
    async run() {
      const here = running.get(name) ?? { now: 0, most: 0 }
      running.set(name, here)
      here.now += 1
      here.most = Math.max(here.most, here.now)
      await end()
      here.now -= 1
    },
  })
  return perInstance === null ? kind : { ...kind, perInstance }
}

async function start(kinds: readonly OwnKind[], given: Parameters<typeof startEngine>[2] = {}): Promise<TestEngine> {
  const engine = await startEngine(database, kinds, { pollMs: 60_000, ...given })
  engines.push(engine)
  return engine
}

const enqueue = (kind: string, count: number): Promise<unknown> =>
  database.sql(
    `select count(*) from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', $1::text, 'payload', '{}'::jsonb)) from generate_series(1, $2::int))) e`,
    [kind, count],
  )
const done = async (kind: string): Promise<number> =>
  (
    await database.sql(`select count(*)::int as jobs from mdm.aa_job where status = 'done' and job_kind = $1`, [kind])
  )[0]!.jobs as number
const sentBack = () =>
  database.sql(
    `select action from mdm.aa_audit_log where job_id is not null and action not in ('job_enqueued', 'job_done')`,
  )

const pool = (name: string, dispatch: PoolSpec['dispatch'] = 'fair'): PoolSpec => ({
  name,
  slots: 8,
  kinds: null,
  tenantIds: null,
  dispatch,
})

test('over two pools of one process no more run than allowed, none is claimed in vain, and none is left', async () => {
  await start([counting('scan', 2), counting('import', 1), counting('light', null)], { pools: [pool('a'), pool('b')] })
  await Promise.all([enqueue('scan', 60), enqueue('import', 30), enqueue('light', 300)])
  await until(
    async () => (await done('scan')) === 60 && (await done('import')) === 30 && (await done('light')) === 300,
    'all are done',
    20_000,
  )
  expect(running.get('scan')!.most).toBe(2)
  expect(running.get('import')!.most).toBe(1)
  expect(running.get('light')!.most).toBeGreaterThan(4)
  expect(await sentBack()).toEqual([])
})

test('each instance has its own', async () => {
  const gate = Promise.withResolvers<void>()
  const kinds = [counting('scan', 2, () => gate.promise)]
  await start(kinds)
  await start(kinds)
  await enqueue('scan', 20)
  await until(() => running.get('scan')?.now === 4, 'two run in each')
  gate.resolve()
  await until(async () => (await done('scan')) === 20, 'all are done')
  expect(running.get('scan')!.most).toBe(4)
})

test('while a kind has no room the others run, no statement asks for it, and its next starts as soon as one has ended', async () => {
  const gates: (() => void)[] = []
  const scan = counting('scan', 1, () => new Promise<void>((resolve) => gates.push(resolve)))
  const engine = await start([scan, counting('light', null, async () => {})])
  await enqueue('scan', 3)
  await until(() => gates.length === 1, 'one runs')
  await enqueue('light', 50)
  await until(async () => (await done('light')) === 50, 'the others are done')
  expect(running.get('scan')).toEqual({ now: 1, most: 1 })
  const before = engine.claims.length
  // The end of the first is the only thing that tells of room.
  for (const place of [1, 2]) {
    gates[place - 1]!()
    await until(() => gates.length === place + 1, 'the next runs')
  }
  expect(engine.claims.length - before).toBeLessThan(12)
  gates[2]!()
  await until(async () => (await done('scan')) === 3, 'all are done')
  expect(running.get('scan')!.most).toBe(1)
  expect(await sentBack()).toEqual([])
})

test('with priority dispatch too', async () => {
  await start([counting('scan', 2), counting('light', null)], { pools: [pool('urgent', 'priority')] })
  await Promise.all([enqueue('scan', 30), enqueue('light', 100)])
  await until(async () => (await done('scan')) === 30 && (await done('light')) === 100, 'all are done', 20_000)
  expect(running.get('scan')!.most).toBe(2)
})

describe('the room', () => {
  const kinds = new Map(
    Object.entries({ scan: 2, import: 1, light: undefined }).map(([name, perInstance]) => [
      name,
      { kind: { perInstance }, handler: async () => {} } as never,
    ]),
  )

  test('is told when there was none, and only then', () => {
    const rooms = createKindRooms(kinds)
    let told = 0
    rooms.onRoom(() => (told += 1))
    expect(rooms.open(['scan', 'import', 'light'])).toEqual({ kinds: ['scan', 'import'], most: 1 })
    rooms.taken('import')
    expect(rooms.open(['scan', 'import', 'light'])).toEqual({ kinds: ['scan'], most: 2 })
    rooms.taken('scan')
    rooms.freed('scan')
    rooms.freed('light')
    expect(told).toBe(0)
    rooms.freed('import')
    expect(told).toBe(1)
  })

  test('is given out by one claim at a time, also after one has failed', async () => {
    const rooms = createKindRooms(kinds)
    const order: string[] = []
    const claims = ['a', 'b', 'c'].map((name) =>
      rooms.alone(async () => {
        order.push(`${name} begins`)
        await wait(1)
        order.push(`${name} ends`)
        if (name === 'a') throw new Error('lost')
      }),
    )
    expect((await Promise.allSettled(claims)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })
})
