import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { claimName, jobCursorOf, jobsCursorOf, readJobCursor, readJobsCursor } from '../../src/events/stream-cursor.ts'

const jobId = '0197f3c2-0000-7000-8000-0123456789ab'

test('a cursor of many jobs gives back what was put in', () => {
  const gaps = fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { maxLength: 60 }).map((starts) =>
    starts
      .toSorted((a, b) => a - b)
      .filter((start, i, all) => i === 0 || start > all[i - 1]! + 1)
      .map((start) => ({ from: start, to: start })),
  )
  fc.assert(
    fc.property(
      gaps,
      fc.integer({ min: 20_000, max: Number.MAX_SAFE_INTEGER }),
      fc.nat(30_000_000),
      fc.nat(64),
      (holes, high, minute, count) => {
        const claims = new Set(Array.from({ length: count }, (_, i) => claimName(randomUUID(), i)))
        const cursor = { position: { high, gaps: holes }, minute, claims }
        expect(readJobsCursor(jobsCursorOf(cursor))).toEqual(cursor)
      },
    ),
  )
})

test('more than 64 gaps: it goes back before the first; more than 64 claims: the newest', () => {
  const gaps = Array.from({ length: 65 }, (_, i) => ({ from: 100 + 2 * i, to: 100 + 2 * i }))
  const claims = Array.from({ length: 70 }, (_, i) => claimName(randomUUID(), i))
  const read = readJobsCursor(jobsCursorOf({ position: { high: 1_000, gaps }, minute: 1, claims: new Set(claims) }))
  expect(read.position).toEqual({ high: 99, gaps: [] })
  expect(read.claims).toEqual(new Set(claims.slice(-64)))
})

test('the same claims are the same cursor, in whatever order they were told', () => {
  const claims = Array.from({ length: 5 }, (_, i) => claimName(randomUUID(), i))
  const of = (names: readonly string[]): string =>
    jobsCursorOf({ position: { high: 9, gaps: [] }, minute: 1, claims: new Set(names) })
  expect(of(claims)).toBe(of(claims.toReversed()))
})

test('a position that a number cannot hold exactly is refused', () => {
  const of = (high: bigint): string => `jobs.${high.toString(36)}.1..`
  expect(readJobsCursor(of(2n ** 53n - 1n)).position.high).toBe(2 ** 53 - 1)
  for (const high of [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n])
    expect(outcomeOf(() => readJobsCursor(of(high)))).toBe('INVALID')
})

test('a cursor of one job is of that job', () => {
  expect(readJobCursor(jobCursorOf(jobId, 17), jobId)).toBe(17)
  expect(() => readJobCursor(jobCursorOf(randomUUID(), 17), jobId)).toThrow('another job')
})

test('what is no cursor is refused, and in no other way', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^jobs(\.[0-9a-z_-]{0,12}){0,5}$/)), (text) => {
      expect(['read', 'INVALID']).toContain(outcomeOf(() => readJobsCursor(text)))
      expect(outcomeOf(() => readJobCursor(text, jobId))).toBe('INVALID')
    }),
  )
})

function outcomeOf(read: () => unknown): unknown {
  try {
    read()
    return 'read'
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}
