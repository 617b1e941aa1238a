import type { ImportStatus } from './import-row.ts'
import { statement } from './statement.ts'

export const holdImport = statement<[importId: string], { status: ImportStatus; lastRow: number }>(
  'hold_import',
  `-- holds an import until the transaction ends, so that two runs of it take turns; and up to where its rows were read in, by the primary keys.
-- Compiling a statement that runs for a tenth of a second takes longer
select set_config('jit', 'off', true), i.status, coalesce((select max(r.row_no) from mdm.aa_import_row r where r.import_job_id = i.id), 0)::int as "lastRow"
  from mdm.aa_import_job i where i.id = $1::uuid for no key update`,
)
