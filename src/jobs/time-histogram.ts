/** Bounds of the buckets in milliseconds, half an octave apart, from 1 ms to 27 hours: a time between two of them is known to a third. */
export const timeBoundsMs: readonly number[] = Array.from({ length: 27 }, (_, octave) =>
  octave === 0 ? [1] : [2 ** octave, 1.5 * 2 ** octave],
).flat()

/** Observations by bucket: below the first bound, between the bounds, beyond the last; those at the end may be left out. */
export type TimeHistogram = readonly (number | null)[]

export interface Percentiles {
  /** In seconds; null: nothing was measured. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

/** Half, 95 and 99 of a hundred observations are at most so long. */
export function percentilesOf(histogram: TimeHistogram): Percentiles {
  return { p50: percentileOf(histogram, 0.5), p95: percentileOf(histogram, 0.95), p99: percentileOf(histogram, 0.99) }
}

/** The time in seconds that this share of the observations does not exceed, interpolated within its bucket; null: there are none. */
export function percentileOf(histogram: TimeHistogram, share: number): number | null {
  const total = histogram.reduce<number>((sum, count) => sum + (count ?? 0), 0)
  if (total === 0) return null
  const rank = share * total
  let before = 0
  for (const [bucket, count] of histogram.entries()) {
    const inside = count ?? 0
    if (inside > 0 && before + inside >= rank) return within(bucket, (rank - before) / inside) / 1_000
    before += inside
  }
  return timeBoundsMs.at(-1)! / 1_000
}

/** The sum of two histograms. */
export function addHistograms(a: TimeHistogram, b: TimeHistogram): TimeHistogram {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a]
  return long.map((count, bucket) => (count ?? 0) + (short[bucket] ?? 0))
}

function within(bucket: number, part: number): number {
  const from = timeBoundsMs[bucket - 1] ?? 0
  const to = timeBoundsMs[bucket] ?? from
  return from + (to - from) * part
}
