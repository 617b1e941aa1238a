import { rescheduleJob as reschedule } from '../sql/reschedule-job.ts'
import { authorize, type RequestContext } from './context.ts'
import { jobResult, moveJob, type JobMoveInput, type JobResult } from './move-job.ts'
import { outsideSchedule, type ScheduleInput } from './schedule.ts'
import { invalid } from './user-error.ts'

interface RescheduleJobInput extends JobMoveInput {
  readonly schedule: ScheduleInput
}

/** Changes when a waiting job runs. */
export async function rescheduleJob(input: RescheduleJobInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const { at = null, after = null } = input.schedule
  const outside = outsideSchedule(input.schedule)
  if (outside !== null) return { job: null, errors: [invalid(['schedule'], outside)] }
  const moved = await moveJob(
    {
      done: 'rescheduled',
      stepFor: ({ status }) =>
        status === 'pending'
          ? { run: (db, ...params) => reschedule(db, ...params, at, after), follows: null, tells: 'work' }
          : null,
    },
    input,
    context,
    caller,
  )
  return jobResult(moved)
}
