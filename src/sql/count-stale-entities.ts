import { statement } from './statement.ts'

export const countStaleEntities = statement<
  [tenantId: string, typeId: string, targetVersion: number],
  { count: number }
>(
  'count_stale_entities',
  `-- counts the entities of a type whose search vector is older than a version, along ddm_entity_of_type
select count(*)::float8 as count
  from mdm.ddm_entity e
 where e.tenant_id = $1::uuid and e.entity_type_id = $2::uuid and e.search_version < $3::int`,
)
