import { statement } from './statement.ts'
import { webhookEndpointRowColumns, type WebhookEndpointRow } from './webhook-endpoint-row.ts'

export const listWebhookEndpoints = statement<[tenantIds: readonly string[] | null, limit: number], WebhookEndpointRow>(
  'list_webhook_endpoints',
  `-- reads the endpoints of the tenants (null: all), oldest first, by the primary key or aa_webhook_subscription_tenant
select ${webhookEndpointRowColumns}
  from mdm.aa_webhook_subscription s
 where $1::uuid[] is null or s.tenant_id = any ($1)
 order by s.id
 limit $2::int`,
)
