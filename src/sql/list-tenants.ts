import { tenantRowColumns, type TenantRow } from './read-tenants.ts'
import { statement } from './statement.ts'

export const listTenants = statement<
  [
    tenantIds: readonly string[] | null,
    search: string | null,
    afterName: string | null,
    afterKey: string | null,
    limit: number,
  ],
  TenantRow
>(
  'list_tenants',
  `-- reads tenants by name, then key; $1 = the caller's tenants, null: all; $2 = part of key or name
select ${tenantRowColumns}
  from mdm.aa_tenant t
 where ($1::uuid[] is null or t.id = any ($1))
   and ($2::text is null or strpos(t.tenant_key, lower($2)) > 0 or strpos(lower(t.name), lower($2)) > 0)
   and ($3::text is null or (t.name, t.tenant_key) > ($3, $4::text))
 order by t.name, t.tenant_key
 limit $5`,
)
