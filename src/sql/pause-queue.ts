import { pauseRowColumns, type PauseRow } from './pause-row.ts'
import { statement } from './statement.ts'

/** Begins a pause of a kind, a tenant or both, or changes the one that stands. */
export const pauseQueue = statement<
  [
    kind: string | null,
    tenantId: string | null,
    until: Date | null,
    reason: string | null,
    actor: string,
    requestId: string,
  ],
  PauseRow
>(
  'pause_queue',
  `-- one row a (kind, tenant); by the unique index aa_queue_pause_one. One that has run out begins anew
with paused as (
  insert into mdm.aa_queue_pause as p (job_kind, tenant_id, until, reason, paused_by)
  values ($1::text, $2::uuid, $3::timestamptz, $4::text, $5::text)
  on conflict on constraint aa_queue_pause_one do update
     set since = case when p.until <= now() then now() else p.since end, until = excluded.until, reason = excluded.reason, paused_by = excluded.paused_by
  returning p.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id, reason, request_id, payload)
  select coalesce(p.tenant_id, (select t.id from mdm.aa_tenant t where t.tenant_key = 'platform')), 'queue_pause', p.job_kind, $5::text, p.reason, $6::text,
         jsonb_build_object('pause', p.id, 'kind', p.job_kind, 'tenant', p.tenant_id, 'until', p.until)
    from paused p)
select ${pauseRowColumns} from paused p`,
)
