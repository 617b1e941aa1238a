import type { Pool } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEvents, type Event } from '../../src/jobs/event.ts'
import { standardDefaults } from '../../src/jobs/kind.ts'
import { createBulkRunner } from '../../src/workers/bulk-runner.ts'
import { createClaimLoop } from '../../src/workers/claim-loop.ts'
import { createCompleter, type End } from '../../src/workers/completer.ts'
import { about, createLoop } from '../../src/workers/loop.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { createPromoter } from '../../src/workers/promoter.ts'
import { createPulses, type Pulses } from '../../src/workers/pulses.ts'
import { createRollup } from '../../src/workers/rollup.ts'
import { runsOf } from '../../src/workers/run.ts'
import { createScheduler } from '../../src/workers/scheduler.ts'
import { until } from '../support/until.ts'

const silentMs = 30_000

let now = 0
let told: Event[]
let pulses: Pulses
const events = createEvents((error) => {
  throw error
})
events.on((event) => told.push(event))
beforeEach(() => {
  told = []
  now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  pulses = createPulses(silentMs)
})
afterEach(() => vi.restoreAllMocks())

const never = (): Promise<never> => new Promise(() => {})
/** A database that takes every question and answers none. */
const hung = { query: never, connect: never } as unknown as Pool
const deps = () => ({ pool: hung, events, pulses })
const wakeup = { on: () => () => undefined, signal: () => undefined }

/** Every loop of a worker, at its work on a database that does not answer. */
const loops: Record<string, () => void> = {
  'promoter of waiting jobs': () => createPromoter({ ...deps(), pollMs: 1_000, onPromoted: () => {} }).start(),
  scheduler: () =>
    createScheduler({
      ...deps(),
      kinds: [{ name: 'ticks', schedule: { every: 'PT1S' }, defaults: standardDefaults } as never],
      onEnqueued: () => {},
    }).start(),
  maintenance: () =>
    createMaintenance({ ...deps(), everyMs: 10_000, deadAfterMs: silentMs, onRecovered: () => {} }).start(),
  'roll-up of statistics': () => createRollup({ ...deps(), everyMs: 10_000 }).start(),
  'runner of bulk operations': () =>
    createBulkRunner({ ...deps(), wakeup, pollMs: 1_000, followUps: new Map() }).start(),
  'claim loop': () =>
    createClaimLoop({
      wanted: () => 1,
      shape: never as never,
      claim: never,
      tookAll: () => false,
      isHeldUp: () => false,
      retryInMs: () => null,
      leftSome: () => false,
      reopened: () => {},
      events,
      pulse: pulses.of('claim loop'),
      pollMs: 1_000,
    }).look(),
  completer: () =>
    createCompleter({
      pool: hung,
      events,
      pulse: pulses.of('completer'),
      worker: { id: 1, name: 'w' },
      afterCommit: () => {},
    }).settle({ run: runsOf([[] as never], '1')[0]!, move: 'finish', durationMs: 1, resultText: null } as End),
}

test.each(Object.entries(loops))(
  'O06: a stuck %s is found out by its silence, and by nothing else',
  async (name, start) => {
    start()
    // Those that begin with the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    expect([...pulses.overdue().keys()]).toEqual([name])
    now += silentMs - 1
    expect(pulses.missed()).toEqual([])
    now += 2
    expect(pulses.missed()).toEqual([
      `The ${name} has not got on for 30 s and has not failed: it waits for something that does not come.`,
    ])
    expect(pulses.overdue().get(name)).toBeCloseTo(30)
  },
)

test('O06: a loop that fails again and again is told with the code of its error, and forgotten when it gets on', async () => {
  let broken = true
  let turns = 0
  const loop = createLoop({
    name: 'test',
    events,
    pulse: pulses.of('test'),
    retryAfterMs: 1,
    turn: async () => {
      turns += 1
      if (broken) throw Object.assign(new Error('secret'), { code: '55P03' })
      return 1
    },
  })
  loop.start()
  await until(() => told.length > 2, 'it has failed')
  expect(told[0]).toMatchObject({ type: 'loop:failed', loop: 'test' })
  now += silentMs + 1
  expect(pulses.missed()).toEqual([
    `The test has not got on for 30 s; it tries again and fails (55P03). The service's log says more.`,
  ])
  broken = false
  const failed = turns
  await until(() => turns > failed + 1, 'it gets on')
  expect(pulses.missed()).toEqual([])
  await loop.stop()
  const ended = turns
  now += 10 * silentMs
  expect(pulses.missed()).toEqual([])
  expect(turns).toBe(ended)
})

test('a loop that rests is not missed, however long; one that announced its next turn is', () => {
  const pulse = pulses.of('test')
  now += 10 * silentMs
  expect(pulses.missed()).toEqual([])
  pulse.begin()
  pulse.next(60_000)
  now += 60_000 + silentMs
  expect(pulses.missed()).toEqual([])
  now += 1
  expect(pulses.missed()).toHaveLength(1)
  pulse.rest()
  expect(pulses.missed()).toEqual([])
})

test('about: within a tenth', () => {
  for (let count = 0; count < 100; count += 1) expect(Math.abs(about(1_000) - 1_000)).toBeLessThanOrEqual(100)
})
