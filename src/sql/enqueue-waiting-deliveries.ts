import { statement } from './statement.ts'

export const enqueueWaitingDeliveries = statement<[endpointId: string, limit: number], { found: number }>(
  'enqueue_waiting_deliveries',
  `-- (nothing) -> pending: jobs for pending deliveries that have none, lowest event first, by aa_webhook_delivery_open
with waiting as materialized (
  select d.id from mdm.aa_webhook_delivery d
   where d.subscription_id = $1 and d.status <> 'delivered' and d.status = 'pending' and d.job_id is null
   order by d.event_pk
   limit $2::int
     for no key update skip locked),
enqueued as materialized (select mdm.enqueue_deliveries(array_agg(id)) from waiting)
select (select count(*)::int from waiting) as found from enqueued`,
)
