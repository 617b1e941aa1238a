import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoffMs, backoffSchedule, plainBackoffMs, type BackoffPolicy } from '../../src/jobs/backoff.ts'
import { kindDefaultsRanges } from '../../src/jobs/kind-defaults.ts'
import { standardDefaults } from '../../src/jobs/kind.ts'

const day = 86_400_000
const standard = standardDefaults.backoff

/** Every configuration that a kind may have. */
const policies: fc.Arbitrary<BackoffPolicy> = fc
  .record({
    baseMs: fc.integer({ min: 1, max: 366 * day }),
    maxMs: fc.integer({ min: 1, max: 366 * day }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .filter(({ baseMs, maxMs }) => baseMs <= maxMs)
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('the seed’s steps: 30 s, 1 m, 2 m, ... up to 24 h', () => {
  const minutes = backoffSchedule(14, standard).map((ms) => ms / 60_000)
  expect(minutes).toEqual([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440])
  expect(backoffSchedule(1, standard)).toEqual([])
  expect(backoffSchedule(0, standard)).toEqual([])
})

test.each([0, -1, -1_100, 39, 40, 41, 1_024, 1_025, 1_100, 5_000, 2 ** 31, NaN, Infinity, -Infinity, 2.5])(
  'R01: attempts %d',
  (attempts) => {
    for (const random of [0, 0.5, 1 - Number.EPSILON]) {
      const delay = backoffMs(attempts, standard, random)
      expect(Number.isFinite(delay)).toBe(true)
      expect(delay).toBeGreaterThanOrEqual(30_000)
      expect(delay).toBeLessThanOrEqual(day * 1.1)
    }
  },
)

test('R01: finite, between the base and the cap with its jitter, for every attempts value and every legal configuration', () => {
  fc.assert(
    fc.property(fc.double(), policies, chance, (attempts, policy, random) => {
      expect(kindDefaultsRanges.safeParse({ backoff: policy }).success).toBe(true)
      const delay = backoffMs(attempts, policy, random)
      expect(delay).toBeGreaterThanOrEqual(policy.baseMs)
      expect(delay).toBeLessThanOrEqual(policy.maxMs * (1 + policy.jitter))
    }),
  )
})

test('the delay never falls from one attempt to the next, and doubles below the cap', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), policies, (attempts, policy) => {
      const now = plainBackoffMs(attempts, policy)
      const next = plainBackoffMs(attempts + 1, policy)
      expect(next).toBe(Math.min(now * 2, policy.maxMs))
    }),
  )
})

test('R02: jitter is added, never taken away, and spreads a wave over its share of the delay', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), policies, chance, (attempts, policy, random) => {
      const plain = plainBackoffMs(attempts, policy)
      const delay = backoffMs(attempts, policy, random)
      expect(delay).toBeGreaterThanOrEqual(plain)
      expect(delay).toBeCloseTo(plain * (1 + policy.jitter * random), 3)
    }),
  )
  const wave = Array.from({ length: 10_000 }, (_, nth) => backoffMs(3, standard, nth / 10_000))
  const spread = wave.reduce((most, ms) => Math.max(most, ms)) - wave.reduce((least, ms) => Math.min(least, ms))
  expect(spread).toBeGreaterThanOrEqual(0.0999 * plainBackoffMs(3, standard))
})
