import { statement } from './statement.ts'

export const findDueKinds = statement<[known: readonly string[]], { kind: string }>(
  'find_due_kinds',
  `-- reads of which kinds jobs are due, but for those that are known to be: one probe a kind of aa_job_by_kind
select k.name as kind
  from mdm.aa_job_kind k
 cross join lateral (
   select from mdm.aa_job j
    where j.lane = 0 and j.job_kind = k.name
    order by j.tenant_id, j.priority, j.available_at, j.id limit 1) d
 where k.name <> all ($1::text[])`,
)
