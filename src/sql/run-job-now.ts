import { held, journaled, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Makes a waiting job available at once; one that is due already keeps its place. Answers the job, or no row. */
export const runJobNow = statement<AdminMoveParams, JobRow>(
  'run_job_now',
  `-- pending -> pending, due now; by the primary key
with ${held('pending')},
moved as (
  update mdm.aa_job j
     set available_at = least(j.available_at, now()), deferred = false, revision = j.revision + 1
    from held h
   where j.id = h.id
  returning j.*),
${journaled('job_rescheduled', `jsonb_build_object('available_at', j.available_at)`)}
select ${jobRowColumns} from moved j`,
)
