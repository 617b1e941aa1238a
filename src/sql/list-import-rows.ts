import type { ImportRowError } from '../jobs/import-errors.ts'
import { importRowStatus, type ImportRowStatus } from './import-row.ts'
import { statement } from './statement.ts'

/** A row of an import as it is read. */
export interface ListedImportRow {
  readonly importId: string
  readonly rowNo: number
  readonly rawText: string
  readonly status: ImportRowStatus
  readonly errors: readonly ImportRowError[] | null
  readonly entityId: string | null
}

export const listImportRows = statement<
  [importId: string, statuses: readonly string[] | null, afterRow: number, limit: number],
  ListedImportRow
>(
  'list_import_rows',
  `-- rows of an import in order of the file, by the primary key; null: of every status
select r.import_job_id as "importId", r.row_no as "rowNo", r.raw::text as "rawText", ${importRowStatus} as status, r.errors,
       case when r.status = 'committed' then r.entity_id end as "entityId"
  from mdm.aa_import_job i
  join mdm.aa_import_row r on r.import_job_id = i.id
 where i.id = $1::uuid and r.row_no > $3::int
   and ($2::text[] is null or ${importRowStatus} = any ($2))
 order by r.row_no
 limit $4::int`,
)
