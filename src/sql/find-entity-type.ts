import { statement } from './statement.ts'

export const findEntityType = statement<
  [id: string | null, tenantId: string, key: string | null],
  { id: string; searchVersion: number }
>(
  'find_entity_type',
  `-- reads a tenant's type by its id or its key
select t.id, t.search_version as "searchVersion"
  from mdm.ddm_entity_type t
 where t.tenant_id = $2::uuid and (t.id = $1::uuid or ($1 is null and t.type_key = $3::text))`,
)
