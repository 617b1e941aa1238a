import { documentWorkflowRowColumns, type DocumentWorkflowRow } from './document-workflow-row.ts'
import { statement } from './statement.ts'

export const readDocumentWorkflow = statement<[id: string, tenantIds: readonly string[] | null], DocumentWorkflowRow>(
  'read_document_workflow',
  `-- reads one workflow by primary key; $2 = the caller's tenants, null: all
select ${documentWorkflowRowColumns}
  from mdm.document_workflow w
 where w.id = $1::uuid and ($2::uuid[] is null or w.tenant_id = any ($2))`,
)
