import { describe, expect, test } from 'vitest'
import { createMoments } from '../../src/jobs/moments.ts'
import { createBuckets, type Buckets, type RateLimit } from '../../src/jobs/rate-limit.ts'
import { createLimitedPairs } from '../../src/workers/limited-pairs.ts'
import { seededRandom } from '../sql/fair-model.ts'

const tenants = Array.from({ length: 40 }, (_, nr) => `t${nr}`)
const kinds = ['free', 'slow', 'mail'] as const

/** What is limited, and by what. */
function limits(scale: () => number) {
  return (kind: string, tenantId: string) => [
    ...(kind === 'free'
      ? []
      : [{ key: `${kind} ${tenantId}`, limit: { rps: 2 * scale(), burst: 7.5 }, common: false }]),
    ...(kind === 'mail' ? [{ key: 'provider', limit: { rps: 30, burst: 12 }, common: true }] : []),
  ]
}

/** Counted anew over all pairs. */
function asOfNow(buckets: Buckets, limitsOf: ReturnType<typeof limits>, now: number) {
  const excluded: string[] = []
  const bounds = new Map<string, number>()
  let reopensInMs = Infinity
  for (const kind of kinds)
    for (const tenantId of tenants) {
      const each = limitsOf(kind, tenantId)
      const of = (what: (key: string, limit: RateLimit) => number) => each.map(({ key, limit }) => what(key, limit))
      const wait = Math.max(0, ...of((key, limit) => buckets.waitMs(key, limit, now)))
      if (wait > 0) {
        excluded.push(`${kind} ${tenantId}`)
        reopensInMs = Math.min(reopensInMs, wait)
      } else if (each.some(({ key }) => buckets.inUse(key, now)))
        bounds.set(
          `${kind} ${tenantId}`,
          Math.max(1, ...[Math.min(...of((key, limit) => buckets.held(key, limit, now)))]),
        )
    }
  return { excluded, bounds, reopensInMs }
}

describe('what a claim has to mind', () => {
  test.each([1, 2, 3, 4, 5, 6])('is at each moment what counting all pairs anew would give, seed %i', (seed) => {
    const random = seededRandom(seed)
    let scale = 1
    let now = 1_000
    const buckets = createBuckets()
    const limitsOf = limits(() => scale)
    const pairs = createLimitedPairs(buckets, limitsOf)
    const touched = new Set<string>()
    for (let step = 0; step < 1_000; step += 1) {
      const kind = kinds[Math.floor(random() * 3)]!
      const tenantId = tenants[Math.floor(random() ** 2 * tenants.length)]!
      for (let jobs = Math.floor(random() * 4); jobs > 0; jobs -= 1) {
        const own = limitsOf(kind, tenantId)
        pairs.touch(kind, tenantId)
        touched.add(`${kind} ${tenantId}`)
        if (own.every(({ key, limit }) => buckets.waitMs(key, limit, now) === 0))
          for (const { key, limit } of own) buckets.take(key, limit, now)
      }
      if (random() < 0.005) {
        scale = 1 + random()
        pairs.reset()
      }
      now += random() < 0.05 ? random() * 3_000 : random() * 20
      const reopensInMs = pairs.refresh(now)
      const truth = asOfNow(buckets, limitsOf, now)
      const where = `seed ${seed}, step ${step}`
      // A pair of which nothing was claimed since its buckets were full is minded through its provider alone.
      const expected = truth.excluded.filter((pair) => touched.has(pair))
      // A bucket gives its token a thousandth of it early; nobody is told of that moment.
      const early = new Set(asOfNow(buckets, limitsOf, now - 1).excluded)
      const known = Object.keys(pairs.excluded).filter((pair) => truth.excluded.includes(pair) || !early.has(pair))
      expect(known.toSorted(), where).toEqual(expected.toSorted())
      expect(expected.length === 0 || Math.abs(reopensInMs - truth.reopensInMs) < 1e-6, where).toBe(true)
      for (const [pair, bound] of Object.entries(pairs.bounds)) {
        const held = truth.bounds.get(pair) ?? Infinity
        expect(bound <= held && (held === Infinity || bound >= held / 2), `${where}, ${pair}`).toBe(true)
      }
      for (const pair of touched) if (!truth.excluded.includes(pair) && !truth.bounds.has(pair)) touched.delete(pair)
      const bounded = [...truth.bounds.keys()].filter((pair) => touched.has(pair) && !pair.startsWith('mail'))
      expect(
        bounded.filter((pair) => !(pair in pairs.bounds) && !(pair in pairs.excluded)),
        where,
      ).toEqual([])
    }
    now += 1e6
    expect(pairs.refresh(now)).toBe(Infinity)
    expect([pairs.excluded, pairs.bounds]).toEqual([{}, {}])
  })

  test('costs what changed: of 10,000 pairs that wait, a claim looks at those whose moment has come', () => {
    let looks = 0
    const buckets = createBuckets()
    const counting: Buckets = {
      ...buckets,
      waitMs: (...args) => {
        looks += 1
        return buckets.waitMs(...args)
      },
    }
    const limit = { rps: 0.01, burst: 1 }
    const pairs = createLimitedPairs(counting, (kind, tenantId) => [
      { key: `${kind} ${tenantId}`, limit, common: false },
    ])
    for (let nr = 0; nr < 10_000; nr += 1) {
      buckets.take(`k t${nr}`, limit, nr)
      pairs.touch('k', `t${nr}`)
    }
    pairs.refresh(10_000)
    expect(Object.keys(pairs.excluded)).toHaveLength(10_000)
    looks = 0
    for (let now = 10_000; now < 10_100; now += 1) pairs.refresh(now)
    expect(looks).toBe(0)
    // Two pairs have their token by then.
    pairs.refresh(100_001.5)
    expect(Object.keys(pairs.excluded)).toHaveLength(9_998)
    expect(looks).toBeLessThan(10)
  })
})

test('moments come in order', () => {
  const random = seededRandom(7)
  const moments = createMoments()
  const all = Array.from({ length: 500 }, (_, nr) => ({ at: Math.floor(random() * 100), key: String(nr) }))
  for (const { at, key } of all) moments.add(at, key)
  const seen: number[] = []
  for (let first = moments.first(); first !== undefined; first = moments.first()) {
    seen.push(first.at)
    moments.removeFirst()
  }
  expect(seen).toEqual(all.map(({ at }) => at).toSorted((a, b) => a - b))
})
