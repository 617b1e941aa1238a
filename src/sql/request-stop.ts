import { heldRunning, mayStillBe, requested, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Asks a running job to end and not to be tried again; answers the job, or no row (it does not run, or was asked before). */
export const requestStop = statement<AdminMoveParams, JobRow>(
  'request_stop',
  `-- running -> running, asked to stop; by the primary key
with ${heldRunning(mayStillBe.stopped)},
${requested('stopped', 'job_stop_requested')}
select ${jobRowColumns} from moved j`,
)
