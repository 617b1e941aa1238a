import { entityAttributeRowColumns, type EntityAttributeRow } from './entity-type-row.ts'
import { statement } from './statement.ts'

export const readEntityAttributes = statement<
  [typeIds: readonly string[] | null, ids: readonly string[] | null, tenantIds: readonly string[] | null],
  EntityAttributeRow
>(
  'read_entity_attributes',
  `-- reads the attributes of types, or single ones by id; $3 = the caller's tenants, null: all
select ${entityAttributeRowColumns}
  from mdm.ddm_entity_type_attribute a join mdm.ddm_entity_type t on t.id = a.entity_type_id
 where ($1::uuid[] is null or a.entity_type_id = any ($1))
   and ($2::uuid[] is null or a.id = any ($2))
   and ($1 is not null or $2 is not null)
   and ($3::uuid[] is null or t.tenant_id = any ($3))
 order by a.entity_type_id, a.attr_key`,
)
