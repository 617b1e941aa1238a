import { statement } from './statement.ts'

export const finishGinIndex = statement<[typeId: string, toggleVersion: number, name: string | null], { id: string }>(
  'finish_gin_index',
  `-- the catalogue holds what the flag of a type asks for (no name: nothing); not if it was toggled since: then another job follows
update mdm.ddm_entity_type
   set gin_index_status = case when $3::text is null then 'none' else 'active' end, gin_index_name = $3, gin_index_error = null, gin_index_updated_at = now()
 where id = $1::uuid and gin_toggle_version = $2::int
returning id`,
)
