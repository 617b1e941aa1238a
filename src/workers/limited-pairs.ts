import { createMoments } from '../jobs/moments.ts'
import type { Buckets, RateLimit } from '../jobs/rate-limit.ts'
import { pairKey } from '../jobs/pair-key.ts'

/**
 * What a claim has to mind of (kind, tenant) pairs whose token buckets are in use. Kept by what changes, a token taken or a moment come at which
 * a bucket holds more, and not counted anew for each claim: with 10,000 pairs that was 70 ms.
 */
export interface LimitedPairs {
  /** Pairs that have no token, as keys. The same object for good, as is `bounds`. */
  readonly excluded: Readonly<Record<string, 1>>
  /** Most jobs that one claim may bring of a pair: as many as it holds tokens for. Half as many at worst, while it fills. */
  readonly bounds: Readonly<Record<string, number>>
  /** A job of the pair took its tokens, or found none; seen with the next refresh. */
  touch(kind: string, tenantId: string): void
  /** Milliseconds until the next pair that has no token will have one; Infinity: none is without. */
  refresh(now: number): number
  /** Limits have changed. */
  reset(): void
}

interface Pair {
  readonly kind: string
  readonly tenantId: string
  limits: readonly Limit[]
  /** When it is looked at again; what is said of it for other moments is out of date. */
  at: number
}

interface Limit {
  readonly key: string
  readonly limit: RateLimit
  /** Whether others take from the same bucket. */
  readonly common: boolean
}

/** What others take from a common bucket is told to so many pairs at once; with more in use each of them has few jobs in a claim. */
const mostTold = 100

export function createLimitedPairs(
  buckets: Buckets,
  limitsOf: (kind: string, tenantId: string) => readonly Limit[],
): LimitedPairs {
  const pairs = new Map<string, Pair>()
  const changed = new Set<string>()
  const sharing = new Set<string>()
  const excluded: Record<string, 1> = {}
  const bounds: Record<string, number> = {}
  const reopenings = createMoments()
  const refills = createMoments()

  const look = (key: string, pair: Pair, now: number): void => {
    const { limits } = pair
    const wait = limits.reduce((most, each) => Math.max(most, buckets.waitMs(each.key, each.limit, now)), 0)
    if (wait > 0) {
      excluded[key] = 1
      delete bounds[key]
      reopenings.add((pair.at = now + wait), key)
      return
    }
    delete excluded[key]
    if (!limits.some((each) => buckets.inUse(each.key, now))) {
      delete bounds[key]
      pairs.delete(key)
      sharing.delete(key)
      return
    }
    const held = limits.reduce((least, each) => Math.min(least, buckets.held(each.key, each.limit, now)), Infinity)
    const bound = (bounds[key] = Math.max(1, held))
    const doubled = limits.reduce(
      (most, each) => Math.max(most, buckets.waitMs(each.key, each.limit, now, Math.min(2 * bound, each.limit.burst))),
      1,
    )
    refills.add((pair.at = now + doubled), key)
  }

  /** All whose moment has come. */
  const pass = (moments: ReturnType<typeof createMoments>, now: number): void => {
    for (let first = moments.first(); first !== undefined; first = moments.first()) {
      const pair = pairs.get(first.key)
      const isCurrent = pair?.at === first.at
      if (isCurrent && first.at > now) return
      moments.removeFirst()
      if (isCurrent) look(first.key, pair, now)
    }
  }

  return {
    excluded,
    bounds,
    touch(kind, tenantId) {
      const key = pairKey(kind, tenantId)
      let pair = pairs.get(key)
      if (pair === undefined) {
        pair = { kind, tenantId, limits: limitsOf(kind, tenantId), at: 0 }
        pairs.set(key, pair)
        if (pair.limits.some(({ common }) => common)) sharing.add(key)
      }
      changed.add(key)
    },
    refresh(now) {
      if (sharing.size <= mostTold) for (const key of sharing) changed.add(key)
      for (const key of changed) {
        const pair = pairs.get(key)
        if (pair !== undefined) look(key, pair, now)
      }
      changed.clear()
      pass(refills, now)
      pass(reopenings, now)
      return (reopenings.first()?.at ?? Infinity) - now
    },
    reset() {
      sharing.clear()
      for (const [key, pair] of pairs) {
        pair.limits = limitsOf(pair.kind, pair.tenantId)
        if (pair.limits.some(({ common }) => common)) sharing.add(key)
        changed.add(key)
      }
    },
  }
}
