const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Milliseconds of an ISO 8601 duration such as `PT5M` or `P1DT12H`; null when it is none, or names months or years, whose length varies. */
export function parseDuration(text: string): number | null {
  const parts =
    /^P(?!$)(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?!$)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?$/.exec(
      text,
    )
  if (parts === null) return null
  const [weeks, days, hours, minutes, seconds] = parts.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return Math.round(weeks * 7 * day + days * day + hours * hour + minutes * minute + seconds * second)
}
