import { entityTypeRowColumns, type EntityTypeRow } from './entity-type-row.ts'
import { statement } from './statement.ts'

export const readEntityTypes = statement<[ids: readonly string[], tenantIds: readonly string[] | null], EntityTypeRow>(
  'read_entity_types',
  `-- reads entity types by id, by the primary key; $2 = the caller's tenants, null: all
select ${entityTypeRowColumns}
  from mdm.ddm_entity_type t
 where t.id = any ($1::uuid[])
   and ($2::uuid[] is null or t.tenant_id = any ($2))`,
)
