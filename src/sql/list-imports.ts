import { importRowColumns, type ImportRow } from './import-row.ts'
import { statement } from './statement.ts'

export const listImports = statement<
  [tenantIds: readonly string[] | null, beforeId: string | null, limit: number],
  ImportRow
>(
  'list_imports',
  `-- imports, newest first, by the primary key or aa_import_job_newest; null: no restriction
select ${importRowColumns}
  from mdm.aa_import_job i
 where ($1::uuid[] is null or i.tenant_id = any ($1)) and ($2::uuid is null or i.id < $2)
 order by i.id desc
 limit $3::int`,
)
