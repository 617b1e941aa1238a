import { documentWorkflowRowColumns, type DocumentWorkflowRow } from './document-workflow-row.ts'
import { statement } from './statement.ts'

export const listDocumentWorkflows = statement<[tenantIds: readonly string[] | null], DocumentWorkflowRow>(
  'list_document_workflows',
  `-- reads workflows in the order in which they run; null: of every tenant
select ${documentWorkflowRowColumns}
  from mdm.document_workflow w
 where $1::uuid[] is null or w.tenant_id = any ($1)
 order by w.tenant_id, w.position, w.id
 limit 1000`,
)
