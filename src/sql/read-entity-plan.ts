import type { StoredIndexStatus } from './entity-type-row.ts'
import { statement } from './statement.ts'

/** An attribute as a query can use it; the expressions were quoted by the server, and are those of its indexes. */
export interface PlannedAttribute {
  readonly key: string
  readonly dataType: 'text' | 'number' | 'date' | 'timestamp' | 'boolean'
  readonly searchable: boolean
  readonly sortable: boolean
  readonly indexStatus: StoredIndexStatus
  readonly value: string
  readonly contained: string
  readonly text: string
}

/** What a query over the entities of a type is made of. */
export interface EntityPlan {
  readonly id: string
  readonly tenantId: string
  readonly key: string
  readonly externalSourceTarget: boolean
  readonly ginIndexStatus: StoredIndexStatus
  readonly typeLiteral: string
  readonly configLiteral: string
  readonly attributes: readonly PlannedAttribute[]
}

export const readEntityPlan = statement<[typeId: string, tenantIds: readonly string[] | null], EntityPlan>(
  'read_entity_plan',
  `-- reads a type with the SQL by which its entities are found along their indexes; $2 = the caller's tenants, null: all
select t.id, t.tenant_id as "tenantId", t.type_key as key, t.is_external_source_target as "externalSourceTarget", t.gin_index_status as "ginIndexStatus",
       format('%L::uuid', t.id) as "typeLiteral", format('%L::regconfig', 'mdm.mdm_' || t.language) as "configLiteral",
       (select coalesce(jsonb_agg(jsonb_build_object(
                 'key', a.attr_key, 'dataType', a.data_type, 'searchable', a.searchable, 'sortable', a.sortable, 'indexStatus', a.index_status,
                 'value', mdm.attr_expression(a.attr_key, a.data_type), 'contained', mdm.attr_text_expression(a.attr_key),
                 'text', format('attributes ->> %L', a.attr_key))), '[]')
          from mdm.ddm_entity_type_attribute a where a.entity_type_id = t.id) as attributes
  from mdm.ddm_entity_type t
 where t.id = $1::uuid and ($2::uuid[] is null or t.tenant_id = any ($2))`,
)
