import { indexHash } from './entity-index-parts.ts'
import { statement } from './statement.ts'

export const findOwnerlessIndexes = statement<[], { name: string }>(
  'find_ownerless_indexes',
  `-- reads from the catalogue the indexes of attributes that are gone
select c.relname as name
  from pg_index i join pg_class c on c.oid = i.indexrelid
 where i.indrelid = 'mdm.ddm_entity'::regclass and c.relname ~ '^ix_entity_attr_.*_[0-9a-f]{8}(_new)?$'
   and not exists (
     select from mdm.ddm_entity_type_attribute a
      where substring(c.relname from '_([0-9a-f]{8})(?:_new)?$') in (${indexHash('a.id', 'sort')}, ${indexHash('a.id', 'contains')}))
 order by c.relname`,
)
