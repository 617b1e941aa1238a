import { statement } from './statement.ts'

export const indexDocument = statement<[documentId: string], never>(
  'index_document',
  `-- what a document is found by, from its title and text as they are now
update mdm.document_text t
   set content_tsv = mdm.document_vector(d.language, d.title, t.content)
  from mdm.documents d
 where t.document_id = $1::uuid and d.id = t.document_id`,
)
