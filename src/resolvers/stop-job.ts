import { requestStop } from '../sql/request-stop.ts'
import { stopJob as stop } from '../sql/stop-job.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { Caller } from '../jobs/permissions.ts'
import { authorize, type RequestContext } from './context.ts'
import { jobResult, moveJob, type JobMove, type JobMoveInput, type JobResult, type Moved } from './move-job.ts'

const move: JobMove<JobRow> = {
  done: 'stopped',
  stepFor({ status, stopCause }) {
    if (status === 'pending' || status === 'dlq') return { run: stop, follows: 'stop', tells: null }
    return status === 'running' && stopCause !== 'stopped'
      ? { run: requestStop, follows: null, tells: 'control' }
      : null
  },
}

/** Flags a job as not to be tried again: at once, or, while it runs, by asking its worker to end it. */
export async function stopJob(input: JobMoveInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  return jobResult(await moveJob(move, input, context, caller))
}

const moveWaiting: JobMove<JobRow> = {
  done: 'stopped',
  stepFor: ({ status }) => (status === 'pending' ? { run: stop, follows: 'stop', tells: null } : null),
}

/** Stops a job only if it waits. */
export function stopPending(input: JobMoveInput, context: RequestContext, caller: Caller): Promise<Moved<JobRow>> {
  return moveJob(moveWaiting, input, context, caller)
}
