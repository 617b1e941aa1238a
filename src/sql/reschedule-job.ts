import { held, journaled, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Changes when a waiting job runs: at an instant, or after a time by the database's clock. Answers the job, or no row. */
export const rescheduleJob = statement<[...AdminMoveParams, at: Date | null, afterMs: number | null], JobRow>(
  'reschedule_job',
  `-- pending -> pending, at another time; by the primary key
with ${held('pending')},
due as (select coalesce($7::timestamptz, now() + coalesce($8::float8, 0) * interval '1 millisecond') as at),
moved as (
  update mdm.aa_job j
     set available_at = due.at, deferred = due.at > now(), revision = j.revision + 1
    from held h, due
   where j.id = h.id
  returning j.*),
${journaled('job_rescheduled', `jsonb_build_object('available_at', j.available_at)`)}
select ${jobRowColumns} from moved j`,
)
