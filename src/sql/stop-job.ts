import { held, journaled, toFailed, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Flags a job that does not run as not to be tried again; answers the job, or no row. */
export const stopJob = statement<AdminMoveParams, JobRow>(
  'stop_job',
  `-- pending, dlq -> failed; by the primary key
with ${held('pending', 'dlq')},
${toFailed('stopped')},
${journaled('job_stop', `jsonb_build_object('from', h.status)`)}
select ${jobRowColumns} from moved j`,
)
