import { statement } from './statement.ts'
import { taxonomyTermRowColumns, type TaxonomyTermRow } from './taxonomy-term-row.ts'

type Params = [documentIds: readonly string[], tenantIds: readonly string[] | null]

/** A term that a document has. */
export interface TermOfDocument extends TaxonomyTermRow {
  readonly documentId: string
  readonly automatic: boolean
  readonly score: number | null
}

export const readTermsOfDocuments = statement<Params, TermOfDocument>(
  'read_terms_of_documents',
  `-- reads the terms of documents, in order of their paths
select dt.document_id as "documentId", dt.source = 'auto' as automatic, dt.score, ${taxonomyTermRowColumns}
  from mdm.document_term dt join mdm.taxonomy_term t on t.id = dt.term_id
 where dt.document_id = any ($1::uuid[]) and ($2::uuid[] is null or t.tenant_id = any ($2))
 order by t.path`,
)
