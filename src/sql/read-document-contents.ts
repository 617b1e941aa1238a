import { statement } from './statement.ts'

type Params = [documentIds: readonly string[], tenantIds: readonly string[] | null]

export const readDocumentContents = statement<Params, { documentId: string; content: string }>(
  'read_document_contents',
  `-- reads the texts of documents, by primary key
select t.document_id as "documentId", t.content
  from mdm.document_text t join mdm.documents d on d.id = t.document_id
 where t.document_id = any ($1::uuid[]) and ($2::uuid[] is null or d.tenant_id = any ($2))`,
)
