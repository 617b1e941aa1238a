import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { statement } from './statement.ts'

export const findLivingJobs = statement<[...JobMatchParams, limit: number], { readonly id: string }>(
  'find_living_jobs',
  `-- reads which jobs match among those that are not done, no further than the limit: on the queue's indexes, aa_claim and aa_job_dead
select j.id from mdm.aa_job j where 'pending' = any ($2::mdm.job_status[]) and (j.lane = 0 or j.lane = 1) and ${jobMatches}
union all
select j.id
  from mdm.aa_job j
 where 'running' = any ($2::mdm.job_status[]) and j.status = 'running' and j.id = any (array(select unnest(c.job_ids) from mdm.aa_claim c))
   and ${jobMatches}
union all
select j.id from mdm.aa_job j where $2::mdm.job_status[] && '{dlq,failed}' and j.dead_at is not null and ${jobMatches}
 limit $22`,
)
