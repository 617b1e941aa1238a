import { statement } from './statement.ts'

export const finishAttributeIndex = statement<
  [attributeId: string, toggleVersion: number, name: string | null, builtWith: string | null],
  { id: string }
>(
  'finish_attribute_index',
  `-- the catalogue holds what the flags of an attribute ask for (no name: nothing); not if it was toggled since: then another job follows
update mdm.ddm_entity_type_attribute
   set index_status = case when $3::text is null then 'none' else 'active' end, index_name = $3, index_built_with = $4, index_error = null, index_updated_at = now()
 where id = $1::uuid and toggle_version = $2::int
returning id`,
)
