import { claimedEventOf, jobEventsOf, type JobEvent } from '../jobs/job-event.ts'
import { tenantPredicate } from '../jobs/permissions.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readJobJournal } from '../sql/read-job-journal.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

interface HistoryInput {
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'job_events'

/** Everything that happened to a job, oldest first. */
export async function listJobEvents(
  job: JobRow,
  input: HistoryInput,
  context: RequestContext,
): Promise<Page<JobEvent>> {
  const caller = authorize(context, [['READ_JOBS']])
  const plan = planPage(input)
  const after = plan.cursor === null ? -1 : Number(decodeCursor(order, plan.cursor, /^\d{1,9}$/)[0])
  const rows = await readJobJournal(context.deps.pools.api, job.id, tenantPredicate(caller), after, plan.size + 1)
  const events: JobEvent[] = []
  // The claim of a run that was asked to end stands on the row of each request, and on that of its end.
  for (const event of rows.flatMap(jobEventsOf))
    if (event.revision > (events.at(-1)?.revision ?? after)) events.push(event)
  // The claim of a job that runs has no row yet; with a full page it comes on a later one.
  const claimed = rows.length <= plan.size ? await presentClaim(job, context) : null
  if (claimed !== null && claimed.revision > after && events.every(({ revision }) => revision < claimed.revision))
    events.push(claimed)
  return pageOf(plan, events, ({ revision }) => encodeCursor(order, [revision]))
}

/** One event of a job by its revision; null: there is none, or the job's journal is not the caller's to see. */
export async function findJobEvent(jobId: string, revision: number, context: RequestContext): Promise<JobEvent | null> {
  const caller = authorize(context, [['READ_JOBS']])
  const rows = await readJobJournal(context.deps.pools.api, jobId, tenantPredicate(caller), revision - 1, 2)
  const told = rows.flatMap(jobEventsOf).find((event) => event.revision === revision)
  if (told !== undefined) return told
  const job = await context.loaders.jobs.load(jobId)
  const claimed = job === null ? null : await presentClaim(job, context)
  return claimed?.revision === revision ? claimed : null
}

async function presentClaim(job: JobRow, context: RequestContext): Promise<JobEvent | null> {
  if (job.status !== 'running' || job.claimRevision === null || job.claimedAt === null) return null
  const worker = job.claimedBy === null ? null : await context.loaders.workersByName.load(job.claimedBy)
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
