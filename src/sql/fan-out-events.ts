import { statement } from './statement.ts'

export interface FannedOut {
  readonly events: number
  readonly deliveries: number
  /** Ordered endpoints that have something to send now, in the order in which their rows are locked. */
  readonly ordered: readonly string[]
}

/** Under the tenant's fan-out lock. */
export const fanOutEvents = statement<[tenantId: string, limit: number], FannedOut>(
  'fan_out_events',
  `-- pending events -> dispatched, with one delivery for each endpoint that wants them: with its job, or without while it waits for its turn or its
-- endpoint is switched off; by aa_outbox_event_pending. That an endpoint was disabled is not told to itself. The endpoints' rows stay locked, so that none is switched on or off meanwhile
with endpoints as materialized (
  select s.id, s.status, s.ordered, s.event_types from mdm.aa_webhook_subscription s where s.tenant_id = $1 order by s.id for no key update),
events as materialized (
  select e.id, e.event_id, e.event_type, e.aggregate_id from mdm.aa_outbox_event e where e.tenant_id = $1 and e.status = 'pending' order by e.id limit $2::int),
dispatched as (
  update mdm.aa_outbox_event set status = 'dispatched', fanned_out_at = now() where id = any (array(select id from events))),
placed as (
  insert into mdm.aa_webhook_delivery (tenant_id, subscription_id, event_pk, event_id, event_type, status, job_id)
  select $1, s.id, e.id, e.event_id, e.event_type, case when s.status = 'active' then 'pending' else 'held' end,
         case when s.status = 'active' and not s.ordered then mdm.uuid_v7() end
    from events e
    join endpoints s on mdm.is_event_wanted(s.event_types, e.event_type) and (e.event_type <> 'webhook.disabled' or e.aggregate_id is distinct from s.id::text)
   order by e.id, s.id
  on conflict (subscription_id, event_pk) do nothing
  returning id, subscription_id, event_pk, job_id),
enqueued as materialized (
  select mdm.enqueue_dispatch(array_agg(job_id order by event_pk), array_agg($1::uuid), array_agg(jsonb_build_object('phase', 'deliver', 'delivery_id', id) order by event_pk), 0)
    from placed where job_id is not null)
select (select count(*)::int from events) as events, (select count(*)::int from placed) as deliveries,
       array(select s.id::text from endpoints s where s.ordered and s.status = 'active' and s.id in (select subscription_id from placed) order by s.id) as ordered
  from enqueued`,
)
