import { heldRunning, mayStillBe, requested, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Asks a running job to end since its enqueuer no longer wants it; answers the job, or no row (it does not run, or was asked before). */
export const requestCancel = statement<AdminMoveParams, JobRow>(
  'request_cancel',
  `-- running -> running, asked to end as cancelled; by the primary key
with ${heldRunning(mayStillBe.cancelled)},
${requested('cancelled', 'job_cancel_requested')}
select ${jobRowColumns} from moved j`,
)
