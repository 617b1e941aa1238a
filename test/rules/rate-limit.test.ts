import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBuckets, type Buckets, type RateLimit } from '../../src/jobs/rate-limit.ts'

const limit: RateLimit = { rps: 5, burst: 10 }

/** Takes a token if there is one; else says how long to wait. */
function tryTake(buckets: Buckets, key: string, limits: RateLimit, now: number): number {
  const wait = buckets.waitMs(key, limits, now)
  if (wait === 0) buckets.take(key, limits, now)
  return wait
}

test('5 a second with a burst of 10: ten at once, then one each 200 ms', () => {
  const buckets = createBuckets()
  for (let taken = 0; taken < 10; taken += 1) expect(tryTake(buckets, 'a', limit, 1_000)).toBe(0)
  expect(tryTake(buckets, 'a', limit, 1_000)).toBeCloseTo(200, 6)
  expect(tryTake(buckets, 'a', limit, 1_150)).toBeCloseTo(50, 6)
  expect(tryTake(buckets, 'a', limit, 1_200)).toBe(0)
  // Another key has a bucket of its own.
  expect(tryTake(buckets, 'b', limit, 1_200)).toBe(0)
})

test('14 after an empty bucket in 3 seconds, 6 after a second of rest', () => {
  const buckets = createBuckets()
  for (let taken = 0; taken < 10; taken += 1) buckets.take('a', limit, 0)
  let within = 0
  for (let now = 0; now < 3_000; now += 1) if (tryTake(buckets, 'a', limit, now) === 0) within += 1
  expect(within).toBe(14)
  let rested = 0
  for (let tries = 0; tries < 20; tries += 1) if (tryTake(buckets, 'a', limit, 4_000) === 0) rested += 1
  expect(rested).toBe(6)
})

test('a full bucket is forgotten and one in use is not', () => {
  const buckets = createBuckets()
  buckets.take('a', limit, 0)
  expect(buckets.inUse('a', 199)).toBe(true)
  buckets.sweep(199)
  expect(buckets.held('a', limit, 199)).toBe(9)
  expect(buckets.inUse('a', 200)).toBe(false)
  buckets.sweep(200)
  expect(buckets.held('a', limit, 200)).toBe(10)
})

const limits = fc.record({
  rps: fc.double({ min: 0.001, max: 10_000, noNaN: true }),
  burst: fc.integer({ min: 1, max: 1_000 }),
})
const starts = fc.double({ min: 0, max: 1e9, noNaN: true })

test('whoever waits exactly as long as it was told succeeds', () => {
  fc.assert(
    fc.property(
      limits,
      starts,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 }),
      (given, start, pauses) => {
        const buckets = createBuckets()
        let now = start
        for (let taken = 0; taken < given.burst; taken += 1) expect(tryTake(buckets, 'a', given, now)).toBe(0)
        for (const pause of pauses) {
          const wait = tryTake(buckets, 'a', given, now)
          now += wait
          expect(wait === 0 || tryTake(buckets, 'a', given, now) === 0).toBe(true)
          now += (pause * 1_000) / given.rps
        }
      },
    ),
  )
})

test('never more than the burst and what flowed in, and what it says it holds can be taken', () => {
  fc.assert(
    fc.property(
      limits,
      starts,
      fc.array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: 1, maxLength: 200 }),
      (given, start, pauses) => {
        const buckets = createBuckets()
        let now = start
        let taken = 0
        for (const pause of pauses) {
          const held = buckets.held('a', given, now)
          expect(held >= 1).toBe(buckets.waitMs('a', given, now) === 0)
          if (tryTake(buckets, 'a', given, now) === 0) taken += 1
          expect(taken).toBeLessThanOrEqual(given.burst + ((now - start) * given.rps) / 1_000 + 2e-3)
          now += (pause * 1_000) / given.rps
        }
      },
    ),
  )
})
