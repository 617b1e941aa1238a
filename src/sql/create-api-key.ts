import { statement } from './statement.ts'

type Params = [
  secretHash: Buffer,
  name: string,
  scopes: readonly string[],
  tenantIds: readonly string[] | null,
  expiresAt: Date | null,
  createdBy: string,
]

export const createApiKey = statement<Params, { id: string }>(
  'create_api_key',
  `-- (none) -> a key; its change is journaled for the platform's tenant, found by aa_tenant_tenant_key_key
with created as (
  insert into mdm.aa_api_key (secret_hash, name, scopes, tenant_ids, expires_at, created_by)
  values ($1, $2, $3, $4, $5, $6)
  returning id, name, scopes, tenant_ids, expires_at
), journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, payload)
  select platform.id, 'api_key_change', $6::text,
         jsonb_build_object('change', 'created', 'id', created.id, 'name', created.name, 'scopes', created.scopes,
                            'tenantIds', created.tenant_ids, 'expiresAt', created.expires_at)
    from created, mdm.aa_tenant platform
   where platform.tenant_key = 'platform'
)
select id from created`,
)
