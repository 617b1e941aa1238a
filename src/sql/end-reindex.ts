import { statement } from './statement.ts'

export const endReindex = statement<[jobId: string], { jobId: string }>(
  'end_reindex',
  `-- a reindex is over: its place is not needed any more; by the primary key
delete from mdm.ddm_reindex_run where job_id = $1::uuid returning job_id as "jobId"`,
)
