import { outsideRange, ranges } from '../jobs/ranges.ts'
import { reprioritizeJob as reprioritize } from '../sql/reprioritize-job.ts'
import { authorize, type RequestContext } from './context.ts'
import { jobResult, moveJob, type JobMoveInput, type JobResult } from './move-job.ts'
import { invalid } from './user-error.ts'

interface ReprioritizeJobInput extends JobMoveInput {
  readonly priority: number
}

/** Changes the priority of a waiting job. */
export async function reprioritizeJob(input: ReprioritizeJobInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const { priority } = input
  const outside = outsideRange('priority', priority, ranges.priority)
  if (outside !== null) return { job: null, errors: [invalid(['priority'], outside)] }
  const moved = await moveJob(
    {
      done: 'reprioritised',
      stepFor: ({ status }) =>
        status === 'pending'
          ? { run: (db, ...params) => reprioritize(db, ...params, priority), follows: null, tells: 'work' }
          : null,
    },
    input,
    context,
    caller,
  )
  return jobResult(moved)
}
