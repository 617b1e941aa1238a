import { tenantRowColumns, type TenantRow } from './read-tenants.ts'
import { statement } from './statement.ts'

export const createTenant = statement<
  [key: string, name: string, ownLimits: string, actor: string, requestId: string],
  TenantRow
>(
  'create_tenant',
  `-- makes a tenant with the kinds' default rate limits ($3: of kinds that this process knows, over the registered ones), and its journal row; no row: the key is taken
with made as (
  insert into mdm.aa_tenant as t (tenant_key, name, metadata)
  select $1, $2, case when limits.of_kinds = '{}' then '{}' else jsonb_build_object('rate_limit', limits.of_kinds) end
    from (select coalesce(jsonb_object_agg(k.name, k.rate_limit) filter (where k.rate_limit is not null), '{}') || $3::jsonb as of_kinds
            from mdm.aa_job_kind k) limits
  on conflict (tenant_key) do nothing
  returning ${tenantRowColumns}),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select made.id, 'tenant_change', $4, $5, jsonb_build_object('change', 'created', 'key', made.key, 'name', made.name, 'metadata', made.metadata)
    from made)
select * from made`,
)
