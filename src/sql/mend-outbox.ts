import { statement } from './statement.ts'

/** Answers how many jobs were made, and the ordered endpoints that may have to go on. */
export const mendOutbox = statement<[limit: number], { made: number; ordered: readonly string[] }>(
  'mend_outbox',
  `-- what waits in the outbox for a minute without a job gets one: events whose fan-out job died or was discarded, deliveries whose job is gone
with tenants as materialized (
  select distinct e.tenant_id from mdm.aa_outbox_event e
   where e.status = 'pending' and e.occurred_at < now() - interval '1 minute'
     and exists (select from mdm.aa_tenant t where t.id = e.tenant_id and t.status = 'active')
     and not exists (select from mdm.aa_job j where j.lane is not null and j.job_kind = 'outbox_dispatch' and j.tenant_id = e.tenant_id and j.payload ->> 'phase' = 'fanout')
   limit $1::int),
orphans as materialized (
  select d.id, d.subscription_id, s.ordered
    from mdm.aa_webhook_delivery d join mdm.aa_webhook_subscription s on s.id = d.subscription_id and s.status = 'active'
   where d.status <> 'delivered' and d.status = 'pending' and d.created_at < now() - interval '1 minute'
     and (d.job_id is null and not s.ordered
          or d.job_id is not null and not exists (select from mdm.aa_job j where j.id = d.job_id and j.status <> 'done'))
   limit $1::int),
fan_outs as materialized (
  select mdm.enqueue_dispatch(array_agg(mdm.uuid_v7()), array_agg(tenant_id), array_agg('{"phase": "fanout"}'::jsonb), 1) from tenants),
loose as (
  update mdm.aa_webhook_delivery d set job_id = null from orphans o where d.id = o.id and o.ordered),
deliveries as materialized (
  select mdm.enqueue_deliveries(array_agg(id)) from orphans where not ordered)
select (select count(*)::int from tenants) + (select count(*)::int from orphans where not ordered) as made,
       array(select s.id::text from mdm.aa_webhook_subscription s
              where s.ordered and s.status = 'active'
                and exists (select from mdm.aa_webhook_delivery d where d.subscription_id = s.id and d.status <> 'delivered' and d.status = 'pending')
              order by s.id) as ordered
  from fan_outs, deliveries`,
)
