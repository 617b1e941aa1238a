import { indexHash, indexSignature } from './entity-index-parts.ts'
import { statement } from './statement.ts'

export interface FoundIndex {
  readonly name: string
  /** Usable: whole, and kept up to date. */
  readonly valid: boolean
  readonly signature: string
}

export const findEntityIndexes = statement<[attributeId: string | null, typeId: string | null], FoundIndex>(
  'find_entity_indexes',
  `-- reads from the catalogue the indexes of an attribute, by the end of their names, or those for external sources of a type, by their predicate
select c.relname as name, i.indisvalid and i.indisready as valid, ${indexSignature} as signature
  from pg_index i join pg_class c on c.oid = i.indexrelid
 where i.indrelid = 'mdm.ddm_entity'::regclass
   and case when $1::uuid is not null
         then c.relname ~ ('^ix_entity_attr_.*_(' || ${indexHash('$1', 'sort')} || '|' || ${indexHash('$1', 'contains')} || ')(_new)?$')
         else c.relname ~ '^ix_entity_(attributes_gin|gin_new)_' and pg_get_expr(i.indpred, i.indrelid) = format('(entity_type_id = %L::uuid)', $2::uuid) end
 order by c.relname`,
)
