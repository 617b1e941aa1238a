import { runJobNow as run } from '../sql/run-job-now.ts'
import type { JobRow } from '../sql/job-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { jobResult, moveJob, type JobMove, type JobMoveInput, type JobResult } from './move-job.ts'

const move: JobMove<JobRow> = {
  done: 'run now',
  stepFor: ({ status }) => (status === 'pending' ? { run, follows: null, tells: 'work' } : null),
}

/** Makes a waiting job available at once. */
export async function runJobNow(input: JobMoveInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  return jobResult(await moveJob(move, input, context, caller))
}
