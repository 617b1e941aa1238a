import { statement } from './statement.ts'
import { webhookEndpointRowColumns, type WebhookEndpointRow } from './webhook-endpoint-row.ts'

export const readWebhookEndpoints = statement<
  [ids: readonly string[], tenantIds: readonly string[] | null],
  WebhookEndpointRow
>(
  'read_webhook_endpoints',
  `-- reads endpoints by the primary key; $2 = the caller's tenants, null: all
select ${webhookEndpointRowColumns}
  from mdm.aa_webhook_subscription s
 where s.id = any ($1::uuid[]) and ($2::uuid[] is null or s.tenant_id = any ($2))`,
)
