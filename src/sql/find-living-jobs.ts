import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { statement } from './statement.ts'

export const findLivingJobs = statement<[...JobMatchParams, limit: number], { readonly id: string }>(
  'find_living_jobs',
  `-- reads which jobs match among those that are not done, no further than the limit: on the queue's indexes, aa_claim and aa_job_dead
select j.id from mdm.aa_job j where (j.lane = 0 or j.lane = 1) and ${jobMatches}
union all
select j.id
  from mdm.aa_claim c
 cross join unnest(c.job_ids) listed(id)
  join mdm.aa_job j on j.id = listed.id and j.lease = c.lease and j.status = 'running'
 where ${jobMatches}
union all
select j.id from mdm.aa_job j where j.dead_at is not null and ${jobMatches}
 limit $22`,
)
