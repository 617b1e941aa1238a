import type { JobRow } from '../sql/job-row.ts'

/** A progress report on its way to subscribers, ahead of the job's row. */
export interface ProgressHint {
  readonly jobId: string
  /** Which run reports: when it was claimed, in milliseconds since 1970 by the database's clock. */
  readonly claimedMs: number
  /** Counts the run's reports; stands on the row, too, so that an older one is never told after a newer one. */
  readonly report: number
  /** When it was made, in milliseconds since 1970. */
  readonly at: number
  /** The report as JSON. Null: it was too long for the way here and is on the row by now. */
  readonly text: string | null
}

/** Room for the JSON of one hint beside the sender's name: PostgreSQL takes 8,000 bytes in a notification. */
const mostBytes = 7_900

/** The hint as the others get it: without its text where there is no room for that. */
function packed(hint: ProgressHint): string {
  const { jobId, claimedMs, report, at, text } = hint
  const whole = JSON.stringify([jobId, claimedMs, report, at, text])
  return Buffer.byteLength(whole) <= mostBytes - 100 ? whole : JSON.stringify([jobId, claimedMs, report, at, null])
}

/** Hints in as few messages as they need. */
export function packHints(hints: Iterable<ProgressHint>): string[] {
  const messages: string[] = []
  let open: string[] = []
  let bytes = 0
  const close = (): void => {
    if (open.length > 0) messages.push(`[${open.join(',')}]`)
    open = []
    bytes = 0
  }
  for (const hint of hints) {
    const text = packed(hint)
    const more = Buffer.byteLength(text) + 1
    if (bytes + more > mostBytes - 100) close()
    open.push(text)
    bytes += more
  }
  close()
  return messages
}

/** What `packHints` made; anybody may write to the channel, so whatever is none is left out. */
export function unpackHints(message: string): ProgressHint[] {
  let found: unknown
  try {
    found = JSON.parse(message)
  } catch {
    return []
  }
  return Array.isArray(found) ? found.flatMap(hintOf) : []
}

function hintOf(parts: unknown): ProgressHint[] {
  if (!Array.isArray(parts)) return []
  const [jobId, claimedMs, report, at, text] = parts as unknown[]
  if (typeof jobId !== 'string' || typeof claimedMs !== 'number' || typeof report !== 'number') return []
  if (typeof at !== 'number' || Number.isNaN(new Date(at).getTime())) return []
  if (text !== null && (typeof text !== 'string' || !isReport(text))) return []
  return [{ jobId, claimedMs, report, at, text }]
}

function isReport(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** The job with the report of the hint, where that is the present run's and newer than what is on the row. */
export function withHint(job: JobRow, { claimedMs, report, at, text }: ProgressHint): JobRow {
  const isOfThisRun = job.claimedAt !== null && Math.abs(job.claimedAt.getTime() - claimedMs) <= 1
  if (!isOfThisRun || text === null || report <= numberOf(job.progress)) return job
  return {
    ...job,
    progress: { ...(JSON.parse(text) as Record<string, unknown>), at: new Date(at).toISOString() },
  }
}

/** Whether the second report is news to who knows the first; both of the same job. */
export function isNewerReport(known: KnownReport | undefined, job: JobRow): boolean {
  if (job.progress === null) return false
  if (known === undefined || known.claimRevision !== job.claimRevision) return true
  const report = numberOf(job.progress)
  // Who writes to the row by hand counts nothing.
  return report === 0 ? known.text !== JSON.stringify(job.progress) : report > known.report
}

/** A report that was told. */
export interface KnownReport {
  readonly claimRevision: number | null
  readonly report: number
  readonly text: string
}

export function knownReport({ claimRevision, progress }: JobRow): KnownReport {
  return { claimRevision, report: numberOf(progress), text: JSON.stringify(progress) }
}

function numberOf(progress: JobRow['progress']): number {
  const report = progress?.['report']
  return typeof report === 'number' ? report : 0
}
