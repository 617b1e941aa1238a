export interface BackoffPolicy {
  readonly baseMs: number
  readonly maxMs: number
  /** Share of the delay that chance may add, 0 to 1. */
  readonly jitter: number
}

/**
 * How long to wait after failure number `attempts`: min(base * 2^(attempts-1), max) + random(0 .. jitter * delay) (SPEC section 5).
 * Total: finite and never negative for any attempts value. `random` is in [0, 1).
 */
export function backoffMs(attempts: number, policy: BackoffPolicy, random: number): number {
  return plainBackoffMs(attempts, policy) * (1 + policy.jitter * random)
}

/** The delay without its chance part. The exponent is clamped first: 2^1024 is no number, 2^40 outlives every cap. */
export function plainBackoffMs(attempts: number, policy: BackoffPolicy): number {
  const exponent = Math.min(Math.max(Math.trunc(attempts) || 1, 1) - 1, 40)
  return Math.min(policy.baseMs * 2 ** exponent, policy.maxMs)
}

/** The delays as they would come, for people who look at a kind. */
export function backoffSchedule(maxAttempts: number, policy: BackoffPolicy): number[] {
  return Array.from({ length: Math.max(maxAttempts - 1, 0) }, (_, index) => plainBackoffMs(index + 1, policy))
}
