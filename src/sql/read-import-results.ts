import type { ImportRowError } from '../jobs/import-errors.ts'
import { importRowStatus, type ImportRowStatus } from './import-row.ts'
import { statement } from './statement.ts'

/** A row with its outcome, for the result file. */
export interface ImportResultRow {
  readonly rowNo: number
  readonly status: ImportRowStatus
  readonly entityId: string
  readonly errors: readonly ImportRowError[] | null
  readonly raw: Readonly<Record<string, unknown>>
}

export const readImportResults = statement<
  [importId: string, afterRow: number, limit: number, failed: boolean],
  ImportResultRow
>(
  'read_import_results',
  `-- rows with their outcome in order of the file, by the primary key, 4 MiB of them at most; in an import that is given up what is good was left out
select g."rowNo", g.status, g."entityId", g.errors, g.raw
  from (
    select r.row_no as "rowNo", ${importRowStatus} as status, r.entity_id as "entityId", r.errors, r.raw,
           sum(r.bytes) over (order by r.row_no) - r.bytes as before
      from (select f.*, octet_length(f.raw::text) as bytes from mdm.aa_import_row f where f.import_job_id = $1::uuid and f.row_no > $2::int order by f.row_no limit $3::int) r
     cross join (select case when $4::boolean then 'failed' else '' end as status) i) g
 where g.before < 4194304
 order by g."rowNo"`,
)
