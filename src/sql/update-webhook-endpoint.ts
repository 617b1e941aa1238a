import { statement } from './statement.ts'
import { webhookEndpointRowColumns, type WebhookEndpointRow } from './webhook-endpoint-row.ts'

type Params = [
  id: string,
  tenantIds: readonly string[] | null,
  url: string | null,
  eventTypes: readonly string[] | null,
  status: 'active' | 'paused' | null,
  /** Empty: nobody any more. */
  notifyEmail: string | null,
  actor: string,
  requestId: string,
]

/** Null stays as it is. `releases`: what was held goes on now. */
export const updateWebhookEndpoint = statement<Params, WebhookEndpointRow & { readonly releases: boolean }>(
  'update_webhook_endpoint',
  `-- changes an endpoint, by the primary key. Paused: what waits is held. Active again: what was held goes on where it was paused, and always where
-- order was promised; what a disabled endpoint missed waits for a redelivery. Its failures count anew
with held as materialized (
  select h.id, h.status from mdm.aa_webhook_subscription h where h.id = $1 and ($2::uuid[] is null or h.tenant_id = any ($2)) for no key update),
s as (
  update mdm.aa_webhook_subscription w
     set url = coalesce($3, w.url), event_types = coalesce($4::text[], w.event_types), status = coalesce($5, w.status),
         notify_email = case when $6::text is null then w.notify_email else nullif($6, '') end,
         disabled_at = case when $5 is null then w.disabled_at end, disabled_reason = case when $5 is null then w.disabled_reason end,
         consecutive_failures = case when $5 = 'active' and w.status <> 'active' then 0 else w.consecutive_failures end,
         first_failure_at = case when $5 = 'active' and w.status <> 'active' then null else w.first_failure_at end,
         throttle_until = case when $5 = 'active' and w.status <> 'active' then null else w.throttle_until end
    from held h
   where w.id = h.id
  returning w.*, $5 = 'active' and (h.status = 'paused' or h.status = 'disabled' and w.ordered) as releases),
waiting as (
  update mdm.aa_webhook_delivery d set status = 'held'
    from s
   where $5 = 'paused' and d.subscription_id = s.id and d.status <> 'delivered' and d.status = 'pending'),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select s.tenant_id, 'webhook_change', $7, $8, jsonb_strip_nulls(jsonb_build_object('webhook_endpoint_id', s.id, 'change', 'updated', 'url_changed', case when $3 is not null then true end,
         'event_types', $4::text[], 'status', $5::text,
         'notify_email_changed', case when $6 is not null then true end)) from s)
select ${webhookEndpointRowColumns}, coalesce(s.releases, false) as releases from s`,
)
