import { toPending } from './admin-move-parts.ts'
import { statement } from './statement.ts'

type Params = [
  endpointId: string,
  /** Deliveries made at or after; null: all. */
  since: Date | null,
  /** Dead ones too. */
  dead: boolean,
  actor: string,
  requestId: string,
]

/** Afterwards the deliveries that wait get jobs: `enqueue_waiting_deliveries`, or in order `chain_webhook`. */
export const releaseDeliveries = statement<Params, { released: number }>(
  'release_deliveries',
  `-- held, dead -> pending without a job, by aa_webhook_delivery_open. The dead letters of the dead ones are replayed: they find that another job
-- carries their delivery now, and end
with endpoint as materialized (
  select s.id, s.tenant_id from mdm.aa_webhook_subscription s where s.id = $1 and s.status = 'active' for no key update),
missed as materialized (
  select d.id, d.job_id, d.status
    from mdm.aa_webhook_delivery d join endpoint s on d.subscription_id = s.id
   where d.status <> 'delivered' and (d.status = 'held' or $3::boolean and d.status = 'dead') and ($2::timestamptz is null or d.created_at >= $2)
     for no key update of d),
released as (
  update mdm.aa_webhook_delivery d set status = 'pending', job_id = null from missed m where d.id = m.id returning 1),
held as materialized (
  select j.id, j.status from mdm.aa_job j where j.id in (select m.job_id from missed m where m.status = 'dead') and j.status in ('dlq', 'failed') for update),
due as (select now() as at),
${toPending('j.payload')},
replayed as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, request_id, payload)
  select j.id, j.tenant_id, 'job_replay', j.revision, j.job_kind, $4, 'Its delivery is made anew.', $5, jsonb_build_object('from', h.status, 'available_at', j.available_at)
    from moved j join held h on h.id = j.id),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select s.tenant_id, 'webhook_change', $4, $5, jsonb_strip_nulls(jsonb_build_object('webhook_endpoint_id', s.id, 'change', 'redelivered', 'since', $2::timestamptz,
         'deliveries', (select count(*) from missed))) from endpoint s)
select (select count(*)::int from released) as released from endpoint`,
)
