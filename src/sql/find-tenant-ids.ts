import { statement } from './statement.ts'

export const findTenantIds = statement<[names: readonly string[]], { id: string; open: boolean }>(
  'find_tenant_ids',
  `-- reads the ids of the tenants that a token names by key or id, by aa_tenant_tenant_key_key and the primary key
select id, status = 'active' as open from mdm.aa_tenant where tenant_key = any ($1::text[])
union
select id, status = 'active'
  from mdm.aa_tenant
 where id = any (select name::uuid from unnest($1::text[]) name where pg_input_is_valid(name, 'uuid'))`,
)
