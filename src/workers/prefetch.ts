/** How many jobs may wait claimed beside the slots: what starts within 20 ms by measured run times, at most 1,000 (SPEC section 4). */
export interface Prefetch {
  ran(kind: string, ms: number): void
  size(): number
}

const startsWithinMs = 20
const largest = 1_000
/** A kind that has not run for this long no longer counts. */
const forgetAfterMs = 5_000

/**
 * Handlers that take longer never see a buffer: the slowest kind of late decides. A restart then leaves little hanging, and a job that came
 * later with a better priority waits for 20 ms at most.
 */
export function createPrefetch(slots: number): Prefetch {
  const kinds = new Map<string, { mean: number; at: number }>()
  let size = 0
  let countedAt = -Infinity

  return {
    ran(kind, ms) {
      const now = performance.now()
      const seen = kinds.get(kind)
      if (seen === undefined) kinds.set(kind, { mean: ms, at: now })
      else {
        // A slow run counts at once, fast ones by and by.
        seen.mean = ms > seen.mean ? (seen.mean + ms) / 2 : seen.mean * 0.9 + ms * 0.1
        seen.at = now
      }
    },
    size() {
      const now = performance.now()
      if (now - countedAt < 5) return size
      countedAt = now
      let slowest = 0
      for (const [kind, { mean, at }] of kinds) {
        if (now - at > forgetAfterMs) kinds.delete(kind)
        else slowest = Math.max(slowest, mean)
      }
      size = kinds.size === 0 || slowest > startsWithinMs ? 0 : Math.min(Math.floor((slots * startsWithinMs) / Math.max(slowest, 0.005)), largest)
      return size
    },
  }
}
