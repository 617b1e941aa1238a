import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  advance,
  between,
  coarsen,
  includes,
  missing,
  reopen,
  union,
  upTo,
  type Position,
} from '../../src/events/journal-position.ts'

const top = 40
const every = Array.from({ length: top }, (_, i) => i + 1)
const told = (position: Position): number[] => every.filter((id) => includes(position, id))

const ids = fc
  .uniqueArray(fc.integer({ min: 1, max: top }), { maxLength: 30 })
  .map((list) => list.toSorted((a, b) => a - b))
/** A position as looks make it: ids that came in several steps, each in ascending order. */
const positions = fc.array(ids, { maxLength: 4 }).map((steps) =>
  steps.reduce<{ position: Position; had: Set<number> }>(
    ({ position, had }, step) => {
      const news = step.filter((id) => !had.has(id))
      return { position: advance(position, news), had: new Set([...had, ...news]) }
    },
    { position: { high: 0, gaps: [] }, had: new Set() },
  ),
)

test('a position knows which ids were told', () => {
  fc.assert(
    fc.property(positions, ({ position, had }) => {
      expect(told(position)).toEqual([...had].toSorted((a, b) => a - b))
      expect(missing(position)).toBe(position.high - had.size)
      position.gaps.forEach((gap, i) => expect(gap.from).toBeGreaterThan((position.gaps[i - 1]?.to ?? -1) + 1))
    }),
  )
})

test('a union has what either had', () => {
  fc.assert(
    fc.property(positions, positions, (a, b) => {
      const both = union(a.position, b.position)
      expect(told(both)).toEqual(every.filter((id) => a.had.has(id) || b.had.has(id)))
      expect(both.high).toBe(Math.max(a.position.high, b.position.high))
    }),
  )
})

test('between two positions lies what the second had and the first had not', () => {
  fc.assert(
    fc.property(positions, positions, fc.integer({ min: 0, max: top }), (a, b, after) => {
      const spans = between(a.position, b.position, after)
      const found = spans.flatMap(({ from, to }) => every.filter((id) => id >= from && id <= to))
      expect(found).toEqual(every.filter((id) => id > after && b.had.has(id) && !a.had.has(id)))
    }),
  )
})

test('up to an id nothing beyond it was told', () => {
  fc.assert(
    fc.property(positions, fc.integer({ min: 0, max: top }), ({ position, had }, id) => {
      expect(told(upTo(position, id))).toEqual(every.filter((each) => each <= id && had.has(each)))
    }),
  )
})

test('reopened ids count as not told', () => {
  fc.assert(
    fc.property(
      positions,
      fc.integer({ min: 1, max: top }),
      fc.integer({ min: 1, max: top }),
      ({ position, had }, a, b) => {
        const span = { from: Math.min(a, b), to: Math.max(a, b) }
        expect(told(reopen(position, [span]))).toEqual(
          every.filter((id) => had.has(id) && (id < span.from || id > span.to)),
        )
      },
    ),
  )
})

test('coarse spans hold all the ids, in no more than so many', () => {
  fc.assert(
    fc.property(positions, fc.integer({ min: 1, max: 5 }), ({ position }, most) => {
      const spans = coarsen(position.gaps, most)
      expect(spans.length).toBeLessThanOrEqual(most)
      for (const { from, to } of position.gaps)
        expect(spans.some((span) => span.from <= from && span.to >= to)).toBe(true)
    }),
  )
})
