import { ginOptions, indexHash, wantedIndex, type WantedIndex } from './entity-index-parts.ts'
import { statement } from './statement.ts'

/** A type and the index for external sources that it has to have now. */
export interface GinIndex {
  readonly id: string
  readonly tenantId: string
  readonly key: string
  readonly status: string
  readonly toggleVersion: number
  /** Whether external sources look its entities up. */
  readonly target: boolean
  readonly indexName: string | null
  readonly wanted: readonly WantedIndex[]
}

export const readGinIndex = statement<[id: string | null, tenantId: string, key: string | null], GinIndex>(
  'read_gin_index',
  `-- reads a type by its id, or by its key in a tenant, and the index that its flag asks for; nothing is wanted before it has a name
select t.id, t.tenant_id as "tenantId", t.type_key as key, t.gin_index_status as status, t.gin_toggle_version as "toggleVersion",
       t.is_external_source_target as target, t.gin_index_name as "indexName",
       case when t.is_external_source_target and t.gin_index_name is not null then jsonb_build_array(${wantedIndex(
         't.gin_index_name',
         `'ix_entity_gin_new_' || ${indexHash('t.id', 'gin')}`,
         `format('using gin (attributes jsonb_path_ops) ${ginOptions} where entity_type_id = %L::uuid', t.id)`,
       )}) else '[]' end as wanted
  from mdm.ddm_entity_type t
 where t.id = $1::uuid or ($1 is null and t.tenant_id = $2::uuid and t.type_key = $3)`,
)
