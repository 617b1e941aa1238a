import type { JournalRow } from '../jobs/job-event.ts'
import type { FilteredJob } from '../jobs/job-stream-filter.ts'

/** The job as the journal kept it when it was discarded, by id: a row is gone, but filters still have to know whose business it was. */
export function discardedJobs(rows: readonly JournalRow[]): ReadonlyMap<string, FilteredJob> {
  const jobs = new Map<string, FilteredJob>()
  for (const { jobId, action, payload } of rows) {
    const snapshot = payload?.['snapshot']
    if (action === 'job_discard' && typeof snapshot === 'object' && snapshot !== null) {
      jobs.set(jobId, discardedJob(snapshot as Readonly<Record<string, unknown>>))
    }
  }
  return jobs
}

function discardedJob(snapshot: Readonly<Record<string, unknown>>): FilteredJob {
  const text = (key: string): string | null => (typeof snapshot[key] === 'string' ? snapshot[key] : null)
  const time = (key: string): Date | null => (text(key) === null ? null : new Date(text(key)!))
  const tags = snapshot['tags']
  return {
    priority: Number(snapshot['priority']),
    attempts: Number(snapshot['attempts']),
    createdAt: time('created_at') ?? new Date(0),
    availableAt: time('available_at') ?? new Date(0),
    completedAt: time('completed_at'),
    claimedBy: text('claimed_by'),
    errorFingerprint: text('error_fingerprint'),
    idempotencyKey: text('idempotency_key'),
    correlationId: text('correlation_id'),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : null,
  }
}
