import { statement } from './statement.ts'

export const listDocumentTerms = statement<[documentId: string], { path: string }>(
  'list_document_terms',
  `-- reads the paths of a document's terms
select t.path from mdm.document_term dt join mdm.taxonomy_term t on t.id = dt.term_id where dt.document_id = $1::uuid order by t.path`,
)
