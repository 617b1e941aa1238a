import { statement } from './statement.ts'

/** No row: it was not active any more. `notify`: who is to get a mail; null where nobody is, or the tenant is closed. */
export const disableWebhook = statement<[endpointId: string, reason: string], { id: string; notify: string | null }>(
  'disable_webhook',
  `-- active -> disabled, with all that waits for the endpoint held; told to the tenant's other endpoints
with disabled as (
  update mdm.aa_webhook_subscription set status = 'disabled', disabled_at = now(), disabled_reason = $2
   where id = $1 and status = 'active'
  returning id, tenant_id, consecutive_failures, notify_email),
held as (
  update mdm.aa_webhook_delivery d set status = 'held'
    from disabled s
   where d.subscription_id = s.id and d.status <> 'delivered' and d.status = 'pending'),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, reason, payload)
  select tenant_id, 'webhook_change', 'system:outbox_dispatch', $2, jsonb_build_object('webhook_endpoint_id', id, 'status', 'disabled') from disabled)
select id, mdm.publish_event(tenant_id, 'webhook.disabled', 'webhook_endpoint', id::text,
         jsonb_build_object('endpoint_id', 'endpoint_' || id, 'reason', $2::text, 'consecutive_failures', consecutive_failures)),
       case when exists (select from mdm.aa_tenant t where t.id = tenant_id and t.status = 'active') then notify_email end as notify
  from disabled`,
)
