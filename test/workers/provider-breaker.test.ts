import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Snooze } from '../../src/jobs/errors.ts'
import { createProviderBreaker } from '../../src/workers/handlers/email/provider-breaker.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const noAbort = new AbortController().signal

function makeBreaker() {
  const told: string[] = []
  const breaker = createProviderBreaker({
    onOpen: (ms, fault) => told.push(`${fault} ${ms}`),
    onClose: () => told.push('back'),
    random: () => 0,
  })
  /** One run that meets the fault. */
  const fail = async (fault: 'unreachable' | 'refusing'): Promise<number> => {
    const pass = await breaker.enter(noAbort)
    const ms = pass.fault(fault, 'reason')
    pass.leave()
    return ms
  }
  const snoozed = async (): Promise<number> => {
    try {
      await breaker.enter(noAbort)
    } catch (error) {
      if (error instanceof Snooze) return error.delayMs
    }
    throw new Error('It was let in.')
  }
  return { breaker, told, fail, snoozed }
}

test('as long as the provider answers everybody passes', async () => {
  const { breaker, told } = makeBreaker()
  const passes = await Promise.all(Array.from({ length: 10 }, () => breaker.enter(noAbort)))
  for (const pass of passes) {
    pass.alive()
    pass.leave()
  }
  expect(told).toEqual([])
})

test('a provider that refuses everybody is tried once a minute', async () => {
  const { told, fail, snoozed } = makeBreaker()
  expect(await fail('refusing')).toBe(60_000)
  vi.advanceTimersByTime(59_000)
  expect(await snoozed()).toBe(1_000)
  vi.advanceTimersByTime(1_000)
  expect(await fail('refusing')).toBe(60_000)
  expect(told).toEqual(['refusing 60000', 'refusing 60000'])
})

test('one that cannot be reached is tried sooner, then less and less, at least once a minute', async () => {
  const { told, fail } = makeBreaker()
  for (let nth = 0; nth < 6; nth += 1) vi.advanceTimersByTime(await fail('unreachable'))
  expect(told).toEqual([5, 10, 20, 40, 60, 60].map((seconds) => `unreachable ${seconds * 1_000}`))
})

test('runs that were under way when it failed do not make it worse', async () => {
  const { breaker, told } = makeBreaker()
  const passes = await Promise.all(Array.from({ length: 4 }, () => breaker.enter(noAbort)))
  for (const pass of passes) pass.fault('unreachable', 'reason')
  expect(told).toEqual(['unreachable 5000'])
})

test('when the time is over one run tries, and the others wait for what it finds', async () => {
  const { breaker, told, fail } = makeBreaker()
  vi.advanceTimersByTime(await fail('unreachable'))
  const probe = await breaker.enter(noAbort)
  let entered = 0
  const others = Array.from({ length: 3 }, () => breaker.enter(noAbort).then(() => (entered += 1)))
  await Promise.resolve()
  expect(entered).toBe(0)
  probe.alive()
  probe.leave()
  await Promise.all(others)
  expect(told.at(-1)).toBe('back')
})

test('when the try fails the others are sent away without one of their own', async () => {
  const { breaker, fail } = makeBreaker()
  vi.advanceTimersByTime(await fail('unreachable'))
  const probe = await breaker.enter(noAbort)
  const other = breaker.enter(noAbort).catch((error: unknown) => error)
  probe.fault('unreachable', 'reason')
  probe.leave()
  expect(await other).toBeInstanceOf(Snooze)
})

test('a try that ends without an answer leaves the next one to try', async () => {
  const { breaker, fail } = makeBreaker()
  vi.advanceTimersByTime(await fail('unreachable'))
  const probe = await breaker.enter(noAbort)
  const other = breaker.enter(noAbort)
  probe.leave()
  await expect(other).resolves.toBeDefined()
})

test('whoever waits for a try obeys an abort', async () => {
  const { breaker, fail } = makeBreaker()
  vi.advanceTimersByTime(await fail('unreachable'))
  await breaker.enter(noAbort)
  const aborting = new AbortController()
  const other = breaker.enter(aborting.signal)
  aborting.abort(new Error('stop'))
  await expect(other).rejects.toThrow('stop')
})
