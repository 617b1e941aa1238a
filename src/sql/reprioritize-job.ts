import { held, journaled, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Changes the priority of a waiting job; answers the job, or no row. */
export const reprioritizeJob = statement<[...AdminMoveParams, priority: number], JobRow>(
  'reprioritize_job',
  `-- pending -> pending, with another priority; by the primary key
with ${held('pending')},
moved as (
  update mdm.aa_job j
     set priority = $7::int, revision = j.revision + 1
    from held h
   where j.id = h.id
  returning j.*),
${journaled('job_reprioritized', `jsonb_build_object('priority', j.priority, 'from_priority', h.priority)`)}
select ${jobRowColumns} from moved j`,
)
