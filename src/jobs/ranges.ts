/** Node's timers hold no more, in milliseconds: one that is longer fires at once. */
export const longestTimerMs = 2 ** 31 - 1

const hour = 60 * 60 * 1_000

/** What a caller may ask for (PROMISES, ranges). Outside: an error that names the range. Times in milliseconds. */
export const ranges = {
  priority: { min: 0, max: 1_000 },
  maxAttempts: { min: 1, max: 100 },
  tags: { max: 16, maxLength: 64 },
  idempotencyKey: { maxLength: 255 },
  correlationId: { maxLength: 200 },
  reason: { maxLength: 500 },
  /** How far ahead a job may be scheduled. */
  scheduleMs: { max: 366 * 24 * hour },
  /** The oldest and the newest instant that is accepted anywhere. */
  instant: { min: Date.UTC(1970), max: Date.UTC(2200) },
  tenantWeight: { min: 1, max: 100 },
  tenantName: { maxLength: 200 },
  enqueueAtOnce: { min: 1, max: 1_000 },
  /** Ids that a bulk action may name, and jobs that it may take. */
  bulkIds: { min: 1, max: 1_000 },
  bulkLimit: { min: 1, max: 100_000 },
  /** Jobs a second, above 0. */
  bulkRate: { max: 10_000 },
  apiKeyName: { maxLength: 200 },
  pageSize: { min: 1, max: 100 },
  payloadBytes: { max: 64 * 1_024 },
  payloadDepth: { max: 32 },
} as const

/** Null, or the sentence that says which range the number is outside of. */
export function outsideRange(
  what: string,
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
): string | null {
  if (Number.isInteger(value) && value >= min && value <= max) return null
  return `${what} must be a whole number from ${format(min)} to ${format(max)}.`
}

/** Null, or the sentence that says how long the text may be. Counts characters as the database does, not UTF-16 units. */
export function outsideLength(
  what: string,
  value: string,
  { maxLength }: { readonly maxLength: number },
): string | null {
  const length = value.length <= maxLength ? value.length : [...value].length
  if (length >= 1 && length <= maxLength) return null
  return `${what} must have 1 to ${format(maxLength)} characters.`
}

function format(limit: number): string {
  return limit.toLocaleString('en')
}
