import { jobEventsOf, type JobEventType, type JournalRow } from '../jobs/job-event.ts'
import { tenantPredicate } from '../jobs/permissions.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readJobRuns } from '../sql/read-job-runs.ts'
import { authorize, type RequestContext } from './context.ts'
import { eventFailure, type JobFailure } from './job-failure.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

export type AttemptOutcome = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'DEAD_LETTERED' | 'STOPPED' | 'RELEASED' | 'LOST'

/** One run of a job. */
export interface JobAttempt {
  /** Counts over replays. */
  readonly number: number
  /** The job's revision when it ended; of the present run, when it began. */
  readonly revision: number
  /** Number of the worker's row, or its name while the run lasts. */
  readonly worker: { readonly id: number } | { readonly name: string } | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
  readonly outcome: AttemptOutcome
  readonly failure: JobFailure | null
  readonly runSeconds: number | null
  readonly log: readonly string[]
}

interface AttemptsInput {
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'job_attempts'
const newest = 2 ** 31 - 1

/** A job's runs, newest first. */
export async function listJobAttempts(
  job: JobRow,
  input: AttemptsInput,
  context: RequestContext,
): Promise<Page<JobAttempt>> {
  const caller = authorize(context, [['READ_JOBS']])
  const plan = planPage(input)
  const before = plan.cursor === null ? newest : Number(decodeCursor(order, plan.cursor, /^\d{1,9}$/)[0])
  const ended = await readJobRuns(context.deps.pools.api, job.id, tenantPredicate(caller), before, plan.size + 1)
  const present = plan.cursor === null ? presentRun(job) : []
  return pageOf(plan, [...present, ...ended.map(endedRun)], ({ revision }) => encodeCursor(order, [revision]))
}

function presentRun(job: JobRow): JobAttempt[] {
  if (job.status !== 'running' || job.claimedAt === null) return []
  return [
    {
      number: job.runs,
      revision: job.claimRevision ?? job.revision,
      worker: job.claimedBy === null ? null : { name: job.claimedBy },
      startedAt: job.claimedAt,
      finishedAt: null,
      outcome: 'RUNNING',
      failure: null,
      runSeconds: secondsSince(job.claimedAt),
      log: [],
    },
  ]
}

function endedRun(row: JournalRow): JobAttempt {
  const end = jobEventsOf(row).at(-1)!
  const runMs = row.runMs ?? 0
  const log = row.payload?.['log']
  return {
    number: row.attempt ?? 0,
    revision: row.revision,
    worker: row.worker === null ? null : { id: row.worker },
    startedAt: new Date(row.at.getTime() - runMs),
    finishedAt: row.at,
    outcome: outcomes[end.type] ?? 'RELEASED',
    failure: end.error === null ? null : eventFailure(end.error, row.at),
    runSeconds: runMs / 1_000,
    log: Array.isArray(log) ? log.map(String) : [],
  }
}

const outcomes: Partial<Record<JobEventType, AttemptOutcome>> = {
  SUCCEEDED: 'SUCCEEDED',
  RETRY_SCHEDULED: 'FAILED',
  DEAD_LETTERED: 'DEAD_LETTERED',
  STOPPED: 'STOPPED',
  CANCELLED: 'STOPPED',
  RELEASED: 'RELEASED',
  RECOVERED: 'LOST',
}

/** For showing only: nothing is decided by this process' clock. */
export function secondsSince(at: Date): number {
  return Math.max(0, (Date.now() - at.getTime()) / 1_000)
}
