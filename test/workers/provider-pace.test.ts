import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RateLimit } from '../../src/jobs/rate-limit.ts'
import { createProviderPace } from '../../src/workers/handlers/email/provider-pace.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const minute = 60_000

function makePace(limit?: RateLimit) {
  const limits: Record<string, RateLimit> = limit === undefined ? {} : { smtp: limit }
  const told: (number | null)[] = []
  const pace = createProviderPace({
    limits,
    provider: 'smtp',
    onChange: (changed) => told.push(changed === null ? null : changed.rps),
  })
  /** So many mails in one second, the last of them refused. */
  const refusedAfter = (mails: number): void => {
    for (let nth = 0; nth < mails; nth += 1) {
      vi.advanceTimersByTime(1_000 / mails)
      pace.tried()
    }
    pace.throttled(performance.now(), 'slower')
  }
  return { pace, limits, told, refusedAfter }
}

test('M02: a provider that asks for less gets half of its bucket, and no burst beyond a second', () => {
  const { limits, told, refusedAfter } = makePace({ rps: 14, burst: 100 })
  refusedAfter(20)
  expect(limits).toEqual({ smtp: { rps: 7, burst: 7 } })
  expect(told).toEqual([7])
})

test('half of what was really sent, where that is less than the bucket allows', () => {
  const { limits, refusedAfter } = makePace({ rps: 100, burst: 5 })
  refusedAfter(8)
  expect(limits).toEqual({ smtp: { rps: 4, burst: 4 } })
})

test('runs that were under way when it was lowered do not lower it again', () => {
  const { pace, told, refusedAfter } = makePace({ rps: 8, burst: 8 })
  const begunAt = performance.now()
  refusedAfter(8)
  for (let nth = 0; nth < 3; nth += 1) pace.throttled(begunAt, 'slower')
  expect(told).toEqual([4])
})

test('it recovers by itself: half as much more with each quiet minute, in the end the configured bucket itself', () => {
  const configured = { rps: 8, burst: 20 }
  const { limits, told, refusedAfter } = makePace(configured)
  refusedAfter(8)
  vi.advanceTimersByTime(minute - 1)
  expect(told).toEqual([4])
  vi.advanceTimersByTime(1)
  vi.advanceTimersByTime(minute)
  expect(told).toEqual([4, 6, 8])
  expect(limits['smtp']).toBe(configured)
  vi.advanceTimersByTime(10 * minute)
  expect(told).toHaveLength(3)
})

test('one more refusal in the meantime halves it again, and the minute begins anew', () => {
  const { told, refusedAfter } = makePace({ rps: 8, burst: 8 })
  refusedAfter(8)
  vi.advanceTimersByTime(minute - 2_000)
  refusedAfter(4)
  vi.advanceTimersByTime(minute - 1)
  expect(told).toEqual([4, 2])
  vi.advanceTimersByTime(1)
  expect(told).toEqual([4, 2, 3])
})

test('without a configured bucket there is one for a while, of half of what was sent', () => {
  const { limits, told, refusedAfter } = makePace()
  refusedAfter(10)
  expect(limits).toEqual({ smtp: { rps: 5, burst: 5 } })
  vi.advanceTimersByTime(2 * minute)
  expect(told).toEqual([5, 7.5, null])
  expect(limits).toEqual({})
})

test("a day's quota that is used up is asked for once a minute and no more", () => {
  const { limits, refusedAfter } = makePace({ rps: 14, burst: 14 })
  for (let nth = 0; nth < 20; nth += 1) {
    refusedAfter(1)
    vi.advanceTimersByTime(10_000)
  }
  expect(limits['smtp']).toEqual({ rps: 1 / 60, burst: 1 })
})
