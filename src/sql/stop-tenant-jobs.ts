import { statement } from './statement.ts'

/** Stops some pending jobs of closed tenants, of one of them or of all; says how many. Kinds whose own rows follow are left to `stop_job`. */
export const stopTenantJobs = statement<
  [
    tenantId: string | null,
    exceptKinds: readonly string[],
    limit: number,
    actor: string,
    reason: string | null,
    requestId: string | null,
  ],
  { stopped: number }
>(
  'stop_tenant_jobs',
  `-- pending -> failed for jobs of closed tenants; due ones live on aa_job_by_tenant, waiting ones on aa_job_waiting
with closed as materialized (
  select t.id from mdm.aa_tenant t where t.status = 'closed' and ($1::uuid is null or t.id = $1)),
held as materialized (
  select due.id
    from closed c
   cross join lateral (
     select q.id from mdm.aa_job q
      where q.lane = 0 and q.tenant_id = c.id and q.job_kind <> all ($2::text[])
      order by q.tenant_id, q.priority, q.available_at, q.id
      limit $3::int
        for update skip locked) due
  union all
  select waiting.id
    from (select q.id from mdm.aa_job q
           where q.lane = 1 and q.tenant_id in (select id from closed) and q.job_kind <> all ($2::text[])
           limit $3::int
             for update skip locked) waiting),
moved as (
  update mdm.aa_job j
     set status = 'failed', deferred = false, completed_at = now(), dead_at = now(), last_error = coalesce($5::text, j.last_error), revision = j.revision + 1,
         stop_requested_at = now(), stop_cause = 'stopped', stop_requested_by = $4::text, stop_reason = $5::text
    from held h
   where j.id = h.id and j.status = 'pending'
  returning j.id, j.tenant_id, j.job_kind, j.revision),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, request_id, payload)
  select id, tenant_id, 'job_stop', revision, job_kind, $4::text, $5::text, $6::text, '{"from": "pending"}'
    from moved)
select count(*)::int as stopped from moved`,
)
