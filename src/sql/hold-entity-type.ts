import { statement } from './statement.ts'

export const holdEntityType = statement<[typeId: string, tenantIds: readonly string[] | null], { id: string }>(
  'hold_entity_type',
  `-- holds a type's row until the transaction ends; no row: there is no such type among these tenants
select t.id from mdm.ddm_entity_type t
 where t.id = $1::uuid and ($2::uuid[] is null or t.tenant_id = any ($2))
   for no key update`,
)
