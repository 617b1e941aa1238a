import { statement } from './statement.ts'
import { webhookEndpointRowColumns, type WebhookEndpointRow } from './webhook-endpoint-row.ts'

type Params = [
  tenantId: string,
  url: string,
  eventTypes: readonly string[],
  ordered: boolean,
  secret: Buffer,
  notifyEmail: string | null,
  actor: string,
  requestId: string,
]

export const createWebhookEndpoint = statement<Params, WebhookEndpointRow>(
  'create_webhook_endpoint',
  `-- writes an endpoint with its first secret
with s as (
  insert into mdm.aa_webhook_subscription (tenant_id, url, event_types, ordered, secrets_enc, secrets_until, notify_email, created_by)
  values ($1, $2, $3::text[], $4, array[$5::bytea], '{infinity}', $6, $7)
  returning *),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select s.tenant_id, 'webhook_change', $7, $8, jsonb_build_object('webhook_endpoint_id', s.id, 'change', 'created', 'event_types', s.event_types, 'ordered', s.ordered) from s)
select ${webhookEndpointRowColumns} from s`,
)
