/** The points of a chart: each is of the time from itself to the next one. */
export interface Chart {
  readonly from: Date
  /** Exclusive: the end of the last step. */
  readonly to: Date
  readonly stepMs: number
  readonly points: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const standardSpanMs = hourMs
const standardPoints = 120
const mostPoints = 500
/** Steps that a person reads off an axis. */
const niceSteps = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 7, 14, 30, 90, 365].map((days) => days * dayMs),
]

/**
 * The span from its start, taken back to a whole step so that the points stay where they are as time goes on. A string: why there can be
 * no such chart.
 */
export function planChart(
  range: { readonly from?: Date | null | undefined; readonly to?: Date | null | undefined },
  step: number | null,
  now: Date,
): Chart | string {
  const to = range.to?.getTime() ?? Math.max(now.getTime() + 1, range.from?.getTime() ?? 0)
  const from = range.from?.getTime() ?? to - standardSpanMs
  if (from >= to) return '`range` is empty: `from` lies before `to`.'
  if (step !== null && (step < minuteMs || step % minuteMs !== 0))
    return '`step` is a whole number of minutes, at least PT1M.'
  const stepMs = step ?? niceSteps.find((each) => pointsOf(from, to, each) <= standardPoints) ?? niceSteps.at(-1)!
  const points = pointsOf(from, to, stepMs)
  if (points > mostPoints)
    return `This would be ${points.toLocaleString('en')} points, and at most 500 are drawn. Take a longer \`step\` or a shorter \`range\`.`
  const start = startOf(from, stepMs)
  return { from: new Date(start), to: new Date(start + points * stepMs), stepMs, points }
}

const startOf = (from: number, stepMs: number): number => Math.floor(from / stepMs) * stepMs
const pointsOf = (from: number, to: number, stepMs: number): number => Math.ceil((to - startOf(from, stepMs)) / stepMs)
