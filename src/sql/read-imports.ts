import { importRowColumns, type ImportRow } from './import-row.ts'
import { statement } from './statement.ts'

export const readImports = statement<[ids: readonly string[], tenantIds: readonly string[] | null], ImportRow>(
  'read_imports',
  `-- imports by id, of these tenants; null: of all
select ${importRowColumns}
  from mdm.aa_import_job i
 where i.id = any ($1::uuid[]) and ($2::uuid[] is null or i.tenant_id = any ($2))`,
)
