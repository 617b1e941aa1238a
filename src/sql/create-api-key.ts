import { apiKeyColumns, apiKeyTenant, type ApiKeyRow } from './api-key-row.ts'
import { statement } from './statement.ts'

type Params = [
  secretHash: Buffer,
  name: string,
  scopes: readonly string[],
  tenantIds: readonly string[] | null,
  expiresAt: Date | null,
  createdBy: string,
  requestId: string | null,
]

export const createApiKey = statement<Params, ApiKeyRow>(
  'create_api_key',
  `-- (none) -> a key; its change is journaled for its tenant, or for the platform's, found by aa_tenant_tenant_key_key
with created as (
  insert into mdm.aa_api_key (secret_hash, name, scopes, tenant_ids, expires_at, created_by)
  values ($1, $2, $3, $4, $5, $6)
  returning *
), journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select ${apiKeyTenant}, 'api_key_change', $6::text, $7::text,
         jsonb_build_object('change', 'created', 'id', k.id, 'name', k.name, 'scopes', k.scopes,
                            'tenantIds', k.tenant_ids, 'expiresAt', k.expires_at)
    from created k
)
select ${apiKeyColumns} from created k`,
)
