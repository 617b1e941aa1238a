import { expect, test } from 'vitest'
import { createPlaces, type Place, type Target } from '../../src/workers/handlers/webhooks/places.ts'

/** Places on a clock of the test's own. */
function places() {
  const clock = { now: 1_000 }
  return { clock, ...createPlaces({ most: 8, mostFailing: 4, now: () => clock.now }) }
}
const target = (endpointId: string, host = endpointId, failing = false): Target => ({ endpointId, host, failing })
const isPlace = (taken: Place | number): taken is Place => typeof taken !== 'number'

test('H03: two to an endpoint, four to a host, eight in all', async () => {
  const { clock, take } = places()
  for (const id of ['a', 'a', 'b', 'b']) expect(isPlace(await take(target(id, 'host')))).toBe(true)
  // They have run for a while: nobody waits for them.
  clock.now += 10_000
  expect(await take(target('c', 'host'))).toBeGreaterThanOrEqual(10_000)
  expect(await take(target('a', 'other host'))).toBeGreaterThanOrEqual(10_000)
  for (const id of ['d', 'e', 'f', 'g']) expect(isPlace(await take(target(id)))).toBe(true)
})

test('an endpoint that failed gets one, and all of those half of what there is', async () => {
  const { take } = places()
  for (const id of ['a', 'b', 'c', 'd']) expect(isPlace(await take(target(id, id, true)))).toBe(true)
  expect(isPlace(await take(target('a', 'a', true)))).toBe(false)
  expect(isPlace(await take(target('e', 'e', true)))).toBe(false)
  expect(isPlace(await take(target('e')))).toBe(true)
})

test('who finds a quick endpoint busy waits, and is let in by who leaves', async () => {
  const { take } = places()
  const [first, second] = [await take(target('a')), await take(target('a'))]
  const third = take(target('a'))
  const fourth = take(target('a'))
  ;(first as Place).leave()
  expect(isPlace(await third)).toBe(true)
  ;(second as Place).leave()
  ;(second as Place).leave()
  expect(isPlace(await fourth)).toBe(true)
})

test('who waits for longer than a moment is sent away', async () => {
  const { take } = places()
  for (let nth = 0; nth < 2; nth += 1) await take(target('a'))
  expect(await take(target('a'))).toBeGreaterThanOrEqual(100)
})

test('those who wait for a throttled endpoint come back one after another, none before its time', () => {
  const { after } = places()
  const told = Array.from({ length: 100 }, () => after('a', 7_000))
  expect(told[0]).toBe(7_000)
  expect(told.every((ms, index) => index === 0 || ms > told[index - 1]!)).toBe(true)
  expect(Math.max(...told)).toBeLessThan(10_000)
})

test('a long queue is told no time beyond a minute after that', () => {
  const { after } = places()
  const told = Array.from({ length: 20_000 }, () => after('a', 1_000))
  expect(Math.min(...told)).toBe(1_000)
  expect(Math.max(...told)).toBeLessThanOrEqual(61_000)
})
