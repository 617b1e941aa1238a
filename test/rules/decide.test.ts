import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide, type Decision } from '../../src/jobs/decide.ts'
import { JobAborted, NeverRetry, RetryLater, Snooze } from '../../src/jobs/errors.ts'
import { standardDefaults } from '../../src/jobs/kind.ts'

const year = 366 * 86_400_000
const backoff = standardDefaults.backoff
const threw = (thrown: unknown, attempts = 1, random = 0): Decision => decide({ attempts }, thrown, backoff, random)

test('any error is transient and waits for the backoff', () => {
  expect(threw(new TypeError('no'), 3)).toMatchObject({
    move: 'fail',
    permanent: false,
    delayMs: 120_000,
    failure: { error: 'TypeError: no', name: 'TypeError' },
  })
})

test.each([undefined, null, 7, 'text', { a: 1 }, Symbol('s'), () => 1, 10n])(
  'what is thrown need not be an error: %s',
  (thrown) => {
    expect(threw(thrown)).toMatchObject({ move: 'fail', permanent: false, failure: { detail: null } })
  },
)

test('R07: NeverRetry is permanent, and shows its cause', () => {
  expect(threw(new NeverRetry(new RangeError('too far')))).toMatchObject({
    move: 'fail',
    permanent: true,
    delayMs: 0,
    failure: { error: 'RangeError: too far', name: 'RangeError' },
  })
  expect(threw(new NeverRetry('no such address'))).toMatchObject({
    permanent: true,
    failure: { error: expect.stringContaining('no such address') },
  })
  expect(threw(new NeverRetry(undefined))).toMatchObject({ permanent: true, failure: { name: 'NeverRetry' } })
})

test.each([
  [1, 30_000],
  [60_000, 60_000],
  [NaN, 30_000],
  [-5, 30_000],
  [Infinity, 30_000],
  [400 * 86_400_000, year],
])('RetryLater(%d) waits %d ms at the first attempt', (ms, delayMs) => {
  expect(threw(new RetryLater(ms, new Error('busy')))).toMatchObject({
    move: 'fail',
    permanent: false,
    delayMs,
    failure: { error: 'Error: busy' },
  })
})

test.each([
  [0, 100],
  [99, 100],
  [5_000, 5_000],
  [NaN, 100],
  [-1, 100],
  [-Infinity, 100],
  [400 * 86_400_000, year],
])('Snooze(%d) gives the attempt back and waits %d ms', (ms, delayMs) => {
  expect(threw(new Snooze(ms))).toEqual({ move: 'release', delayMs, cause: 'snoozed' })
})

describe('an abort', () => {
  test('by shutdown gives the claim back at once', () => {
    expect(threw(new JobAborted('shutdown', 'The service is shutting down.'))).toEqual({
      move: 'release',
      delayMs: 0,
      cause: 'shutdown',
    })
  })

  test.each(['timeout', 'stop', 'lease_lost'] as const)('by %s is a failure', (reason) => {
    expect(threw(new JobAborted(reason, 'why'))).toMatchObject({
      move: 'fail',
      permanent: false,
      failure: { error: 'JobAborted: why' },
    })
  })
})

test('whatever is thrown: the delay is a number from 0 to 366 days and its jitter', () => {
  const thrown = fc.oneof(
    fc.double().map((ms) => new RetryLater(ms)),
    fc.double().map((ms) => new Snooze(ms)),
    fc.anything().map((cause) => new NeverRetry(cause)),
    fc.anything(),
  )
  fc.assert(
    fc.property(
      thrown,
      fc.integer(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (what, attempts, random) => {
        const decision = threw(what, attempts, random)
        expect(decision.delayMs).toBeGreaterThanOrEqual(0)
        expect(decision.delayMs).toBeLessThanOrEqual(year)
      },
    ),
  )
})
