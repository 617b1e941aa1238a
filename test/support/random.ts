/** Chance that can be had again: the same seed gives the same numbers. */
export interface Random {
  readonly seed: number
  /** From 0 up to 1. */
  next(): number
  /** A whole number from 0 up to `below`. */
  below(below: number): number
  pick<T>(values: readonly T[]): T
}

/** Names the seed in SEED, or draws one. A test prints it when it fails. */
export function seededRandom(seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)): Random {
  let state = seed >>> 0
  const next = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return { seed, next, below, pick: (values) => values[below(values.length)]! }
}
