import { statement } from './statement.ts'
import { webhookEndpointRowColumns, type WebhookEndpointRow } from './webhook-endpoint-row.ts'

type Params = [id: string, tenantIds: readonly string[] | null, secret: Buffer, actor: string, requestId: string]

/** No row: no such endpoint, or ten secrets of it are still valid. */
export const rotateWebhookSecret = statement<Params, WebhookEndpointRow>(
  'rotate_webhook_secret',
  `-- puts a new secret in front, by the primary key; the one before signs for another 24 hours, those whose time is over go
with held as materialized (
  select h.id, kept.secrets, kept.until
    from mdm.aa_webhook_subscription h
   cross join lateral (
     select array_agg(u.secret order by u.nth) as secrets, array_agg(least(u.until, now() + interval '24 hours') order by u.nth) as until
       from unnest(h.secrets_enc, h.secrets_until) with ordinality u(secret, until, nth) where u.until > now()) kept
   where h.id = $1 and ($2::uuid[] is null or h.tenant_id = any ($2))
     for no key update of h),
s as (
  update mdm.aa_webhook_subscription w
     set secrets_enc = array[$3::bytea] || h.secrets, secrets_until = array['infinity'::timestamptz] || h.until
    from held h
   where w.id = h.id and coalesce(cardinality(h.secrets), 0) < 10
  returning w.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select s.tenant_id, 'webhook_change', $4, $5, jsonb_build_object('webhook_endpoint_id', s.id, 'change', 'secret_rotated') from s)
select ${webhookEndpointRowColumns} from s`,
)
