import type { JournalRow } from '../jobs/job-event.ts'
import { readJobs } from '../sql/read-jobs.ts'
import type { Queryable } from '../sql/statement.ts'
import { discardedJobs } from './discarded-job.ts'
import type { FoundEvent } from './events-of-look.ts'
import type { Told } from './journal-window.ts'

/** Puts to each event the job as it is now; one read for all of them. */
export async function toldWithJobs(
  db: Queryable,
  found: readonly FoundEvent[],
  rows: readonly JournalRow[],
): Promise<Told[]> {
  if (found.length === 0) return []
  const ids = [...new Set(found.map(({ event }) => event.jobId))]
  const jobs = new Map((await readJobs(db, ids, null)).map((job) => [job.id, job]))
  const discarded = discardedJobs(rows)
  return found.map(({ rowId, event }) => ({
    rowId,
    event,
    job: jobs.get(event.jobId) ?? null,
    snapshot: discarded.get(event.jobId) ?? null,
  }))
}
