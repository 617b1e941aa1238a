import { statement } from './statement.ts'
import { webhookDeliveryRowColumns, type WebhookDeliveryRow } from './webhook-delivery-row.ts'

export const readWebhookDelivery = statement<[id: string, tenantIds: readonly string[] | null], WebhookDeliveryRow>(
  'read_webhook_delivery',
  `-- reads a delivery by the primary key; $2 = the caller's tenants, null: all
select ${webhookDeliveryRowColumns}
  from mdm.aa_webhook_delivery d
 where d.id = $1 and ($2::uuid[] is null or d.tenant_id = any ($2))`,
)
