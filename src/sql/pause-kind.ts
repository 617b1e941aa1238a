import { statement } from './statement.ts'

export const pauseKind = statement<[kind: string, ms: number, reason: string, pausedBy: string], { until: Date }>(
  'pause_kind',
  `-- pauses a kind for all instances until its provider may be tried again; a person's pause in force stays as it is
with paused as (
  insert into mdm.aa_queue_pause as p (job_kind, until, reason, paused_by)
  values ($1, clock_timestamp() + $2::float8 * interval '1 millisecond', $3, $4)
  on conflict (job_kind, tenant_id) do update
     set until = excluded.until, reason = excluded.reason, paused_by = excluded.paused_by,
         -- Tried in between and still out: the same pause goes on.
         since = case when p.paused_by = excluded.paused_by and p.until > clock_timestamp() - interval '2 minutes' then p.since else excluded.since end
   where p.paused_by = excluded.paused_by or p.until <= clock_timestamp()
  returning p.until, p.since = now() as begins),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id, reason)
  select t.id, 'queue_pause', $1, $4, $3 from paused, mdm.aa_tenant t where paused.begins and t.tenant_key = 'platform')
select until from paused`,
)
