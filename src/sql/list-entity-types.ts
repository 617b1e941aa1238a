import { entityTypeRowColumns, type EntityTypeRow } from './entity-type-row.ts'
import { statement } from './statement.ts'

export const listEntityTypes = statement<[tenantIds: readonly string[] | null, key: string | null], EntityTypeRow>(
  'list_entity_types',
  `-- reads the entity types of tenants (null: all), those of one key or all, by tenant and key
select ${entityTypeRowColumns}
  from mdm.ddm_entity_type t
 where ($1::uuid[] is null or t.tenant_id = any ($1))
   and ($2::text is null or t.type_key = $2)
 order by t.type_key, t.id
 limit 1000`,
)
