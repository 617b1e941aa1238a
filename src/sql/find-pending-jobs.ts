import { statement } from './statement.ts'

export const findPendingJobs = statement<
  [tenantId: string, kinds: readonly string[], afterId: string, limit: number],
  { id: string }
>(
  'find_pending_jobs',
  `-- reads the ids of a tenant's pending jobs of some kinds, in order of id; due ones on aa_job_by_kind, waiting ones on aa_job_waiting
select j.id
  from (select q.id from mdm.aa_job q where q.lane = 0 and q.job_kind = any ($2::text[]) and q.tenant_id = $1::uuid and q.id > $3::uuid
        union all
        select q.id from mdm.aa_job q where q.lane = 1 and q.job_kind = any ($2::text[]) and q.tenant_id = $1::uuid and q.id > $3::uuid) j
 order by j.id
 limit $4::int`,
)
