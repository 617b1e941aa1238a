/** Why an index is not there, as its job left it. */
export interface StoredIndexError {
  readonly code?: string
  readonly message?: string
  readonly bad_rows?: number
  readonly sample?: readonly string[]
}

export type StoredIndexStatus = 'none' | 'pending' | 'building' | 'active' | 'failed'

export interface EntityTypeRow {
  readonly id: string
  readonly tenantId: string
  readonly key: string
  readonly name: string
  readonly language: 'german' | 'english' | 'simple'
  readonly externalSourceTarget: boolean
  readonly ginIndexStatus: StoredIndexStatus
  readonly ginIndexName: string | null
  readonly ginIndexError: StoredIndexError | null
  readonly searchVersion: number
}

/** Of `t`, the type. */
export const entityTypeRowColumns = `t.id, t.tenant_id as "tenantId", t.type_key as key, coalesce(t.name, t.type_key) as name, t.language,
       t.is_external_source_target as "externalSourceTarget", t.gin_index_status as "ginIndexStatus", t.gin_index_name as "ginIndexName",
       t.gin_index_error as "ginIndexError", t.search_version as "searchVersion"`

export interface EntityAttributeRow {
  readonly id: string
  readonly typeId: string
  readonly key: string
  readonly dataType: 'text' | 'number' | 'date' | 'timestamp' | 'boolean'
  readonly required: boolean
  readonly searchable: boolean
  readonly sortable: boolean
  readonly searchWeight: string
  readonly indexStatus: StoredIndexStatus
  readonly indexName: string | null
  readonly indexError: StoredIndexError | null
}

/** Of `a`, the attribute. */
export const entityAttributeRowColumns = `a.id, a.entity_type_id as "typeId", a.attr_key as key, a.data_type as "dataType", a.required, a.searchable, a.sortable,
       a.search_weight as "searchWeight", a.index_status as "indexStatus", a.index_name as "indexName", a.index_error as "indexError"`

export interface EntityRow {
  readonly id: string
  readonly tenantId: string
  readonly typeId: string
  readonly externalKey: string | null
  /** As stored, so that numbers stay exact. */
  readonly attributesText: string
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Of `e`, the entity. */
export const entityRowColumns = `e.id, e.tenant_id as "tenantId", e.entity_type_id as "typeId", e.external_key as "externalKey", e.attributes::text as "attributesText",
       e.version, e.created_at as "createdAt", e.updated_at as "updatedAt"`
