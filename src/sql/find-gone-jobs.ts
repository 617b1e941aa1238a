import { statement } from './statement.ts'

export const findGoneJobs = statement<[ids: readonly string[]], { id: string }>(
  'find_gone_jobs',
  `-- reads which of these jobs have no row any more, by the primary key
select u.id from unnest($1::uuid[]) u(id) where not exists (select from mdm.aa_job j where j.id = u.id)`,
)
