/** How many rows to take at once, so that a transaction stays short whatever a row costs. */
export interface Pace {
  size(): number
  /** Told how long so many took. */
  took(ms: number): void
}

interface PaceOptions {
  readonly start: number
  readonly max: number
  /** What a transaction is to take at most. */
  readonly aimMs?: number
}

export function createPace({ start, max, aimMs = 1_000 }: PaceOptions): Pace {
  let size = Math.min(start, max)
  return {
    size: () => size,
    took(ms) {
      if (ms > 2 * aimMs) size = Math.max(1, Math.floor(size / 4))
      else if (ms > aimMs) size = Math.max(1, Math.floor(size / 2))
      else if (ms < aimMs / 2) size = Math.min(max, size * 2)
    },
  }
}
