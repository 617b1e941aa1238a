import { statement } from './statement.ts'

export const listTenantIds = statement<[limit: number], { readonly id: string }>(
  'list_tenant_ids',
  `-- reads the ids of all tenants, as long as they are few
select t.id from mdm.aa_tenant t limit $1`,
)
