import { statement } from './statement.ts'

export const findDueKinds = statement<[known: readonly string[]], { kind: string }>(
  'find_due_kinds',
  `-- reads of which kinds jobs are due, but for those that are known to be: one probe a kind of aa_job_by_kind
-- Ranges in place of equality: where the statistics know one kind only, another index read to its end seemed as cheap (1 s for 300,000 jobs).
select k.name as kind
  from mdm.aa_job_kind k
 cross join lateral (
   select from mdm.aa_job j
    where j.lane = 0 and (j.job_kind, j.tenant_id) >= (k.name, '00000000-0000-0000-0000-000000000000') and j.job_kind <= k.name
    order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1) d
 where k.name <> all ($1::text[])`,
)
