import { statement } from './statement.ts'

export const absorbFanOuts = statement<[tenantId: string, priority: number, limit: number], { absorbed: number }>(
  'absorb_fan_outs',
  `-- pending -> done: this run spreads their events too; by aa_job_by_kind, where they stand together since they have a priority of their own
with taken as materialized (
  select j.id from mdm.aa_job j
   where j.lane = 0 and j.job_kind = 'outbox_dispatch' and j.tenant_id = $1 and j.priority = $2::int and j.payload ->> 'phase' = 'fanout'
   order by j.available_at, j.id
   limit $3::int
     for update skip locked),
moved as (
  update mdm.aa_job j
     set status = 'done', completed_at = now(), last_error = null, revision = j.revision + 1
   where j.id = any (array(select id from taken)) and j.status = 'pending'
  returning j.id, j.tenant_id, j.revision),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, payload)
  select id, tenant_id, 'job_done', revision, 'outbox_dispatch', 'system:outbox_dispatch', 'Another fan-out of the tenant takes its events.', '{"from": "pending"}'
    from moved)
select count(*)::int as absorbed from moved`,
)
