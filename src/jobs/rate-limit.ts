export interface RateLimit {
  /** Tokens a second. */
  readonly rps: number
  /** Bucket size. */
  readonly burst: number
}

/** Token buckets by key, exact: whoever waits as long as it was told succeeds (GCRA, ITU-T I.371). Times in milliseconds of one clock. */
export interface Buckets {
  /** Whole tokens that the bucket holds now. */
  held(key: string, limit: RateLimit, now: number): number
  /** Milliseconds until the bucket holds a token, or as many as asked for; 0: it does. */
  waitMs(key: string, limit: RateLimit, now: number, tokens?: number): number
  take(key: string, limit: RateLimit, now: number, tokens?: number): void
  /** Whether a token was taken that is not refilled yet. */
  inUse(key: string, now: number): boolean
  /** Forgets full buckets. */
  sweep(now: number): void
}

/** What adding up fractions may lose over days, as a share of a token: without it a wait that was kept to the letter could fail. */
const slack = 1e-3

export function createBuckets(): Buckets {
  /** The theoretical arrival time: when the bucket would be full again. */
  const fullAt = new Map<string, number>()
  const interval = (limit: RateLimit): number => 1_000 / limit.rps

  return {
    held(key, limit, now) {
      const debt = Math.max((fullAt.get(key) ?? 0) - now, 0)
      return Math.max(Math.floor(limit.burst - debt / interval(limit) + slack), 0)
    },
    waitMs(key, limit, now, tokens = 1) {
      const wait = Math.max(fullAt.get(key) ?? 0, now) + interval(limit) * (tokens - limit.burst) - now
      return wait > interval(limit) * slack ? wait : 0
    },
    take(key, limit, now, tokens = 1) {
      fullAt.set(key, Math.max(fullAt.get(key) ?? 0, now) + tokens * interval(limit))
    },
    inUse: (key, now) => (fullAt.get(key) ?? 0) > now,
    sweep(now) {
      for (const [key, at] of fullAt) if (at <= now) fullAt.delete(key)
    },
  }
}
