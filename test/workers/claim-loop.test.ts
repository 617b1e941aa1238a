import { expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import { createClaimLoop } from '../../src/workers/claim-loop.ts'
import type { ClaimShape } from '../../src/workers/claim-rules.ts'
import { createPulses } from '../../src/workers/pulses.ts'
import type { Run } from '../../src/workers/run.ts'
import { until } from '../support/until.ts'

const shape = {
  kinds: ['chore'],
  excludedPairs: {},
  excludedTenants: {},
  pairBounds: {},
  caps: null,
  reopensInMs: null,
}

/** So many turns of the queue of microtasks, as a handler takes that has nothing to wait for. */
async function microtasks(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
}

test.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'a slot that comes free %i microtasks after its claim is filled again, without a poll or a wake-up',
  async (turns) => {
    let free = 1
    let left = 50
    const loop = createClaimLoop({
      wanted: () => free,
      shape: () => shape as unknown as ClaimShape,
      async claim() {
        await new Promise(setImmediate)
        if (left === 0) return []
        left -= 1
        free -= 1
        void microtasks(turns).then(() => {
          free += 1
          loop.look()
        })
        return [{} as Run]
      },
      tookAll: () => false,
      isHeldUp: () => false,
      retryInMs: () => null,
      leftSome: () => false,
      reopened: () => {},
      events: createEvents(() => undefined),
      pulse: createPulses(Infinity).of('test'),
      pollMs: 3_600_000,
    })
    loop.wake()
    try {
      await until(() => left === 0, 'all jobs are claimed', 2_000)
      expect(free).toBe(1)
    } finally {
      await loop.stop()
    }
  },
)

test('slots that come free in one turn of the event loop share a claim', async () => {
  let free = 0
  const wants: number[] = []
  const claimed = Promise.withResolvers<void>()
  const loop = createClaimLoop({
    wanted: () => free,
    shape: () => shape as unknown as ClaimShape,
    async claim(want) {
      wants.push(want)
      free = 0
      claimed.resolve()
      return []
    },
    tookAll: () => true,
    isHeldUp: () => false,
    retryInMs: () => null,
    leftSome: () => false,
    reopened: () => {},
    events: createEvents(() => undefined),
    pulse: createPulses(Infinity).of('test'),
    pollMs: 3_600_000,
  })
  for (let slot = 0; slot < 64; slot += 1) {
    await Promise.resolve()
    free += 1
    loop.look()
  }
  await claimed.promise
  await loop.stop()
  expect(wants).toEqual([64])
})

test('a claim that brought all there was is made sure of later, one that may have left something at once', async () => {
  let asked = 0
  const loopOf = (all: boolean) =>
    createClaimLoop({
      wanted: () => 4,
      shape: () => shape as unknown as ClaimShape,
      claim: async () => ((asked += 1) === 1 ? [{ kind: 'chore', tenantId: 'a' } as Run] : []),
      tookAll: () => all,
      isHeldUp: () => false,
      retryInMs: () => null,
      leftSome: () => false,
      reopened: () => {},
      events: createEvents(() => undefined),
      pulse: createPulses(Infinity).of('test'),
      pollMs: 3_600_000,
    })
  const sure = loopOf(true)
  sure.look()
  await new Promise(setImmediate)
  expect(asked).toBe(1)
  await until(() => asked === 2, 'it has looked again')
  await sure.stop()

  asked = 0
  const unsure = loopOf(false)
  unsure.look()
  await new Promise(setImmediate)
  expect(asked).toBe(2)
  await unsure.stop()
})

test('while another claim has its turn no wake-up asks for it: the next look comes in its time', async () => {
  let asked = 0
  const loopOf = (retryMs: number) => {
    const loop = createClaimLoop({
      wanted: () => 4,
      shape: () => shape as unknown as ClaimShape,
      async claim() {
        asked += 1
        // It came while the statement was under way.
        loop.wake()
        await new Promise(setImmediate)
        return []
      },
      tookAll: () => false,
      isHeldUp: () => true,
      retryInMs: () => retryMs,
      leftSome: () => false,
      reopened: () => {},
      events: createEvents(() => undefined),
      pulse: createPulses(Infinity).of('test'),
      pollMs: 3_600_000,
    })
    return loop
  }
  const later = loopOf(3_600_000)
  later.look()
  for (let turn = 0; turn < 100; turn += 1) {
    await new Promise(setImmediate)
    later.wake()
  }
  expect(asked).toBe(1)
  await later.stop()

  const soon = loopOf(5)
  soon.look()
  await until(() => asked > 3, 'it asks again and again')
  await soon.stop()
})
