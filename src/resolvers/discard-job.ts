import type { AuditRow } from '../sql/audit-row.ts'
import { discardJob as discard } from '../sql/discard-job.ts'
import { authorize, type RequestContext } from './context.ts'
import { moveJob, type JobMove, type JobMoveInput } from './move-job.ts'
import type { UserError } from './user-error.ts'

export interface DiscardResult {
  readonly discardedJobId: string | null
  readonly auditEntry: AuditRow | null
  readonly errors: readonly UserError[]
}

const move: JobMove<AuditRow> = {
  done: 'discarded',
  stepFor: ({ status }) =>
    status === 'pending' || status === 'dlq' || status === 'failed'
      ? { run: discard, follows: 'discard', tells: null }
      : null,
}

/** Deletes a job for good; the journal keeps the whole of it. */
export async function discardJob(input: JobMoveInput, context: RequestContext): Promise<DiscardResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const moved = await moveJob(move, input, context, caller)
  if (!moved.ok) return { discardedJobId: null, auditEntry: null, errors: moved.errors }
  return { discardedJobId: `job_${moved.row.jobId}`, auditEntry: moved.row, errors: [] }
}
