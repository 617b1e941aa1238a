/** States of an import. */
export type ImportStatus =
  | 'uploaded'
  | 'staging'
  | 'validating'
  | 'validated'
  | 'committing'
  | 'done'
  | 'failed'
  | 'cancelled'

export type ImportRowStatus = 'staged' | 'valid' | 'invalid' | 'committed' | 'skipped'

/** An import as it is read. */
export interface ImportRow {
  readonly id: string
  readonly tenantId: string
  readonly entityTypeId: string
  readonly jobId: string | null
  readonly status: ImportStatus
  readonly filename: string | null
  readonly encoding: string | null
  readonly totalRows: number | null
  readonly stagedRows: number
  readonly validRows: number
  readonly invalidRows: number
  readonly committedRows: number
  readonly error: string | null
  readonly warning: string | null
  readonly resultKey: string | null
  readonly objectStore: string
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

/** The select list that makes an ImportRow of the alias `i`. */
export const importRowColumns = `i.id, i.tenant_id as "tenantId", i.entity_type_id as "entityTypeId", i.job_id as "jobId", i.status, i.filename, i.encoding,
       i.total_rows as "totalRows", i.staged_rows as "stagedRows", i.valid_rows as "validRows", i.invalid_rows as "invalidRows",
       i.committed_rows as "committedRows", i.error ->> 'message' as error, i.warning, i.result_key as "resultKey", i.object_store as "objectStore",
       i.created_at as "createdAt", i.finished_at as "finishedAt"`

/** What becomes of a row that nobody will touch any more: it was left out. */
export const importRowStatus = `case when r.status in ('staged', 'valid') and i.status in ('failed', 'cancelled') then 'skipped' else r.status end`
