import { cancelJob as cancel } from '../sql/cancel-job.ts'
import { requestCancel } from '../sql/request-cancel.ts'
import type { JobRow } from '../sql/job-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { jobResult, moveJob, type JobMove, type JobMoveInput, type JobResult } from './move-job.ts'

const move: JobMove<JobRow> = {
  done: 'cancelled',
  stepFor({ status, stopCause }) {
    if (status === 'pending') return { run: cancel, follows: 'cancel', tells: null }
    return status === 'running' && stopCause === null ? { run: requestCancel, follows: null, tells: 'control' } : null
  },
}

/** Withdraws a job: at once, or, while it runs, by asking its worker to end it. */
export async function cancelJob(input: JobMoveInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  return jobResult(await moveJob(move, input, context, caller))
}
