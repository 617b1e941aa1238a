const shortestMs = 1_000
const longestMs = 24 * 60 * 60 * 1_000
const imfDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * How long a receiver asks to be left alone (RFC 9110, Retry-After): seconds or a date, never less than a second nor more than a day.
 * Null: it does not say, or nothing that can be read. `nowMs` is the time of the answer.
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? ''
  const wanted = /^\d{1,10}$/.test(text) ? Number(text) * 1_000 : imfDate.test(text) ? Date.parse(text) - nowMs : NaN
  return Number.isNaN(wanted) ? null : Math.min(Math.max(wanted, shortestMs), longestMs)
}
