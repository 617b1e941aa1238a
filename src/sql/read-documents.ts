import { documentRowColumns, type DocumentRow } from './document-row.ts'
import { statement } from './statement.ts'

export const readDocuments = statement<[ids: readonly string[], tenantIds: readonly string[] | null], DocumentRow>(
  'read_documents',
  `-- reads documents by primary key; $2 = the caller's tenants, null: all
select ${documentRowColumns}
  from mdm.documents d
 where d.id = any ($1::uuid[]) and ($2::uuid[] is null or d.tenant_id = any ($2))`,
)
