import { statement } from './statement.ts'
import { webhookDeliveryRowColumns, type WebhookDeliveryRow } from './webhook-delivery-row.ts'

type Params = [endpointId: string, statuses: readonly string[] | null, beforePk: string | null, limit: number]

export const listWebhookDeliveries = statement<Params, WebhookDeliveryRow>(
  'list_webhook_deliveries',
  `-- reads an endpoint's deliveries, newest event first, by the unique index on endpoint and event; null: no restriction
select ${webhookDeliveryRowColumns}
  from mdm.aa_webhook_delivery d
 where d.subscription_id = $1
   and ($2::text[] is null or d.status = any ($2))
   and ($3::bigint is null or d.event_pk < $3)
 order by d.event_pk desc
 limit $4::int`,
)
