import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

export const readJobsInHand = statement<
  [instanceId: string, worker: string, tenantIds: readonly string[] | null],
  JobRow
>(
  'read_jobs_in_hand',
  `-- reads the jobs that a worker runs, oldest claim first, through aa_claim; a claim's list keeps jobs that have ended and may run elsewhere by now
select ${jobRowColumns}
  from mdm.aa_claim c
 cross join unnest(c.job_ids) as listed(id)
  join mdm.aa_job j on j.id = listed.id and j.lease = c.lease and j.status = 'running' and j.claimed_by = $2
 where c.instance_id = $1
   and ($3::uuid[] is null or j.tenant_id = any ($3))
 order by j.claimed_at, j.id`,
)
