import { entityTypeRowColumns, type EntityTypeRow } from './entity-type-row.ts'
import { statement } from './statement.ts'

export const setEntityType = statement<
  [tenantId: string, key: string, name: string, language: string, externalSourceTarget: boolean],
  EntityTypeRow
>(
  'set_entity_type',
  `-- creates a type or changes it, by the unique index on tenant and key, and holds its row; its triggers enqueue what follows
insert into mdm.ddm_entity_type as t (tenant_id, type_key, name, language, is_external_source_target)
values ($1::uuid, $2, $3, $4, $5)
on conflict (tenant_id, type_key) do update
   set name = excluded.name, language = excluded.language, is_external_source_target = excluded.is_external_source_target
returning ${entityTypeRowColumns}`,
)
