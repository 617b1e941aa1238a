import { apiKeyColumns, apiKeyIsSeen, apiKeyTenant, type ApiKeyRow } from './api-key-row.ts'
import { statement } from './statement.ts'

/** Takes a key out of use for good. One that was revoked before is answered without a journal row. No row: it is none of the caller's. */
export const revokeApiKey = statement<
  [tenantIds: readonly string[] | null, id: string, actor: string, reason: string | null, requestId: string],
  ApiKeyRow
>(
  'revoke_api_key',
  `-- valid -> revoked, by the primary key
with before as materialized (
  select k.id, k.revoked_at from mdm.aa_api_key k where ${apiKeyIsSeen} and k.id = $2::uuid for update),
revoked as (
  update mdm.aa_api_key k
     set revoked_at = coalesce(k.revoked_at, now())
    from before b
   where k.id = b.id
  returning k.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, reason, request_id, payload)
  select ${apiKeyTenant}, 'api_key_change', $3::text, $4::text, $5::text, jsonb_build_object('change', 'revoked', 'id', k.id, 'name', k.name)
    from revoked k join before b on b.id = k.id
   where b.revoked_at is null)
select ${apiKeyColumns} from revoked k`,
)
