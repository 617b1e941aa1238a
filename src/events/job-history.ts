import { claimedEventOf, jobEventsOf, type JobEvent } from '../jobs/job-event.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readJobJournal } from '../sql/read-job-journal.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { readWorkersByName } from '../sql/read-workers-by-name.ts'
import type { Queryable } from '../sql/statement.ts'
import { discardedJobs } from './discarded-job.ts'
import type { Told } from './journal-window.ts'

/** What happened to one job after a revision. */
export interface JobHistory {
  readonly told: readonly Told[]
  readonly job: JobRow | null
  /** False: the journal does not reach back so far. */
  readonly isWhole: boolean
  /** There are later events than these. */
  readonly more: boolean
}

const rowsAtOnce = 200
const mostTries = 3

/** Reads what the journal has of a job after a revision, and the job itself: its present claim has no row yet. */
export async function readJobHistory(db: Queryable, jobId: string, revision: number): Promise<JobHistory> {
  for (let tries = 1; ; tries += 1) {
    const rows = await readJobJournal(db, jobId, null, revision, rowsAtOnce)
    const job = (await readJobs(db, [jobId], null))[0] ?? null
    const more = rows.length >= rowsAtOnce
    const claimed = more ? null : await presentClaim(db, job)
    const last = Math.max(revision, rows.at(-1)?.revision ?? revision)
    const end = claimed?.revision === last + 1 ? last + 1 : last
    // The job was read after the rows and may be ahead of them.
    if (!more && job !== null && job.revision > end && tries < mostTries) continue

    const events = [...rows.flatMap(jobEventsOf), ...(claimed === null || claimed.revision > end ? [] : [claimed])]
    // A stop request may stand before the row that tells of the claim.
    const byRevision = new Map(
      events.toSorted((a, b) => b.revision - a.revision).map((event) => [event.revision, event]),
    )
    const inOrder = [...byRevision.values()].filter((event) => event.revision > revision).toReversed()
    const snapshot = discardedJobs(rows).get(jobId) ?? null
    return {
      told: inOrder.map((event) => ({ rowId: null, event, job, snapshot })),
      job,
      isWhole:
        inOrder[0] === undefined ? job === null || job.revision <= revision : inOrder[0].revision === revision + 1,
      more,
    }
  }
}

async function presentClaim(db: Queryable, job: JobRow | null): Promise<JobEvent | null> {
  if (job?.status !== 'running' || job.claimRevision === null || job.claimedAt === null) return null
  const [worker] = job.claimedBy === null ? [] : await readWorkersByName(db, [job.claimedBy])
  return claimedEventOf({
    jobId: job.id,
    tenantId: job.tenantId,
    kind: job.kind,
    revision: job.claimRevision,
    at: job.claimedAt,
    attempt: job.runs,
    worker: worker?.id ?? null,
  })
}
