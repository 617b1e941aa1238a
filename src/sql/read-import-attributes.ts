import { statement } from './statement.ts'

export const readImportAttributes = statement<[entityTypeId: string], { key: string; required: boolean }>(
  'read_import_attributes',
  `-- what entities of a type have, by the unique index on type and key
select attr_key as key, required from mdm.ddm_entity_type_attribute where entity_type_id = $1::uuid order by attr_key`,
)
