import { statement } from './statement.ts'

/** No row: its endpoint is active by now, or the delivery has moved on. */
export const holdDelivery = statement<[id: string, jobId: string], { id: string }>(
  'hold_delivery',
  `-- pending -> held, as long as its endpoint is not active; by the primary keys
with endpoint as materialized (
  select s.id, s.status from mdm.aa_webhook_subscription s
   where s.id = (select subscription_id from mdm.aa_webhook_delivery where id = $1) for no key update)
update mdm.aa_webhook_delivery d set status = 'held'
  from endpoint s
 where d.id = $1 and d.job_id = $2 and d.status in ('pending', 'held') and s.status <> 'active'
returning d.id`,
)
