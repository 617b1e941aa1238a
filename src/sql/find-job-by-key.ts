import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

export const findJobByKey = statement<[tenantId: string, kind: string, key: string], JobRow>(
  'find_job_by_key',
  `-- reads the job of an idempotency key, by the unique index aa_job_key
select ${jobRowColumns}
  from mdm.aa_job j
 where j.tenant_id = $1 and j.job_kind = $2 and j.idempotency_key = $3`,
)
