import { entityRowColumns, type EntityRow } from './entity-type-row.ts'
import { statement } from './statement.ts'

export const readEntities = statement<[ids: readonly string[], tenantIds: readonly string[] | null], EntityRow>(
  'read_entities',
  `-- reads entities by id, by the primary key; $2 = the caller's tenants, null: all
select ${entityRowColumns}
  from mdm.ddm_entity e
 where e.id = any ($1::uuid[])
   and ($2::uuid[] is null or e.tenant_id = any ($2))`,
)
