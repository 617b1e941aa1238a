import { ginOptions, indexHash, slug, wantedIndex, type WantedIndex } from './entity-index-parts.ts'
import { statement } from './statement.ts'

/** An attribute and the indexes that it has to have now. */
export interface AttributeIndexes {
  readonly tenantId: string
  readonly typeId: string
  readonly typeKey: string
  readonly key: string
  readonly dataType: 'text' | 'number' | 'date' | 'timestamp' | 'boolean'
  readonly status: string
  readonly toggleVersion: number
  /** Fingerprint of the function that the expression calls; null: none of ours. */
  readonly helper: string | null
  /** The one that its index was built with; null: not known. */
  readonly builtWith: string | null
  readonly wanted: readonly WantedIndex[]
}

const sort = indexHash('a.id', 'sort')
const contains = indexHash('a.id', 'contains')
const named = (hash: string): string => `'ix_entity_attr_' || ${slug('a.attr_key', 24)} || '_' || ${hash}`

export const readAttributeIndexes = statement<[attributeId: string], AttributeIndexes>(
  'read_attribute_indexes',
  `-- reads an attribute and the indexes that its flags ask for, by the primary keys; sorting and comparing share one, "contains" has its own
select t.tenant_id as "tenantId", t.id as "typeId", t.type_key as "typeKey", a.attr_key as key, a.data_type as "dataType",
       a.index_status as status, a.toggle_version as "toggleVersion", a.index_built_with as "builtWith",
       case when a.data_type <> 'text' then md5(pg_get_functiondef(to_regprocedure('mdm.attr_' || a.data_type || '(text)'))) end as helper,
       case when a.sortable or (a.searchable and a.data_type <> 'text') then jsonb_build_array(${wantedIndex(
         named(sort),
         `${named(sort)} || '_new'`,
         `format('using btree (tenant_id, (%s), id) where entity_type_id = %L::uuid', mdm.attr_expression(a.attr_key, a.data_type), t.id)`,
       )}) else '[]' end ||
       case when a.searchable and a.data_type = 'text' then jsonb_build_array(${wantedIndex(
         named(contains),
         `${named(contains)} || '_new'`,
         `format('using gin ((%s) %I.gin_trgm_ops) ${ginOptions} where entity_type_id = %L::uuid', mdm.attr_text_expression(a.attr_key),
           (select n.nspname from pg_extension x join pg_namespace n on n.oid = x.extnamespace where x.extname = 'pg_trgm'), t.id)`,
       )}) else '[]' end as wanted
  from mdm.ddm_entity_type_attribute a
  join mdm.ddm_entity_type t on t.id = a.entity_type_id
 where a.id = $1::uuid`,
)
