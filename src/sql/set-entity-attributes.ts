import { statement } from './statement.ts'

/** An attribute in the names of its columns. */
export interface EntityAttributeGiven {
  readonly attr_key: string
  readonly data_type: string
  readonly required: boolean
  readonly searchable: boolean
  readonly sortable: boolean
  readonly search_weight: string
}

export const setEntityAttributes = statement<[typeId: string, attributesJson: string], { key: string }>(
  'set_entity_attributes',
  `-- creates attributes of a type or changes them, by the unique index on type and key; its triggers enqueue what follows
insert into mdm.ddm_entity_type_attribute as a (entity_type_id, attr_key, data_type, required, searchable, sortable, search_weight)
select $1::uuid, g.attr_key, g.data_type, g.required, g.searchable, g.sortable, g.search_weight
  from jsonb_to_recordset($2::jsonb) g(attr_key text, data_type text, required boolean, searchable boolean, sortable boolean, search_weight text)
 order by g.attr_key
on conflict (entity_type_id, attr_key) do update
   set data_type = excluded.data_type, required = excluded.required, searchable = excluded.searchable, sortable = excluded.sortable,
       search_weight = excluded.search_weight
 where (a.data_type, a.required, a.searchable, a.sortable, a.search_weight)
       is distinct from (excluded.data_type, excluded.required, excluded.searchable, excluded.sortable, excluded.search_weight)
returning a.attr_key as key`,
)
