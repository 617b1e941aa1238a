import { indexHash, slug } from './entity-index-parts.ts'
import { statement } from './statement.ts'

export const nameGinIndex = statement<[typeId: string], { name: string }>(
  'name_gin_index',
  `-- gives the index of a type its name: that of the seed where it is short, plain and free, else one with a hash (63 bytes are cut off silently)
update mdm.ddm_entity_type t
   set gin_index_name = coalesce(t.gin_index_name,
         case when lower(t.type_key) ~ '^[a-z0-9_]{1,38}$'
               and not exists (select from mdm.ddm_entity_type o where o.gin_index_name = 'ix_entity_attributes_gin_' || lower(t.type_key))
               and to_regclass('mdm.ix_entity_attributes_gin_' || lower(t.type_key)) is null
           then 'ix_entity_attributes_gin_' || lower(t.type_key)
           else 'ix_entity_attributes_gin_' || ${slug('t.type_key', 29)} || '_' || ${indexHash('t.id', 'gin')} end)
 where t.id = $1::uuid and t.is_external_source_target
returning t.gin_index_name as name`,
)
