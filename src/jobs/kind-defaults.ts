import { z } from 'zod'
import type { KindDefaults } from './kind.ts'
import { longestTimerMs } from './ranges.ts'

const day = 24 * 60 * 60 * 1_000

const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}
const above0 = (max: number) => {
  const error = `must be a number above 0, at most ${max}`
  return z.number({ error }).gt(0, { error }).max(max, { error })
}
const share = { error: 'must be a number from 0 to 1' }

/** The ranges of a kind's defaults; each field may be missing. */
export const kindDefaultsRanges = z.strictObject({
  priority: whole(0, 1_000).optional(),
  maxAttempts: whole(1, 100).optional(),
  backoff: z
    .strictObject({
      baseMs: whole(1, 366 * day).optional(),
      maxMs: whole(1, 366 * day).optional(),
      jitter: z.number(share).min(0, share).max(1, share).optional(),
    })
    .optional(),
  timeoutMs: whole(1, longestTimerMs).optional(),
  staleAfterMs: whole(1, 366 * day).optional(),
  maxConcurrency: whole(1, 10_000).nullish(),
  retentionMs: whole(1, 3_660 * day).nullish(),
  rateLimit: z.strictObject({ rps: above0(10_000), burst: whole(1, 1_000_000) }).nullish(),
  provider: z
    .string({ error: 'must be the name of a provider' })
    .regex(/^[a-z0-9_]{1,63}$/, { error: 'must be the name of a provider: a-z, 0-9 and _, at most 63 characters' })
    .nullish(),
})

/** Some of a kind's defaults: the others stay as they are. */
export type PartialKindDefaults = z.input<typeof kindDefaultsRanges>

/** `base` with what `given` names; of the backoff single figures may be given. */
export function mergeKindDefaults(base: KindDefaults, given: PartialKindDefaults): KindDefaults {
  const { backoff, ...rest } = given
  const named = <Values extends object>(values: Values) =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
      [Key in keyof Values]: Exclude<Values[Key], undefined>
    }
  return { ...base, ...named(rest), backoff: { ...base.backoff, ...named(backoff ?? {}) } }
}
