import { statement } from './statement.ts'

export const removeWorkflowTerm = statement<[documentId: string, path: string], never>(
  'remove_workflow_term',
  `-- a workflow takes a term away, unless a person gave it
delete from mdm.document_term dt
 using mdm.taxonomy_term t
 where dt.document_id = $1::uuid and dt.term_id = t.id and t.path = $2 and dt.source <> 'manual'`,
)
