import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

export const readJobs = statement<[ids: readonly string[], tenantIds: readonly string[] | null], JobRow>(
  'read_jobs',
  `-- reads jobs by id, by the primary key; $2 = the caller's tenants, null: all
select ${jobRowColumns}
  from mdm.aa_job j
 where j.id = any ($1::uuid[])
   and ($2::uuid[] is null or j.tenant_id = any ($2))`,
)
