import { held, journaled, toFailed, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Withdraws a job that waits; answers the job, or no row. */
export const cancelJob = statement<AdminMoveParams, JobRow>(
  'cancel_job',
  `-- pending -> failed; by the primary key
with ${held('pending')},
${toFailed('cancelled')},
${journaled('job_cancel', `jsonb_build_object('from', h.status)`)}
select ${jobRowColumns} from moved j`,
)
