import { documentRowColumns, documentStatus, type DocumentRow } from './document-row.ts'
import { documentHasTerm } from './list-documents.ts'
import { statement } from './statement.ts'

type Params = [
  tenantIds: readonly string[] | null,
  termPath: string | null,
  statuses: readonly string[] | null,
  search: string,
  beforeRank: number | null,
  beforeId: string | null,
  limit: number,
]

export interface FoundDocument extends DocumentRow {
  /** Exact as text. */
  readonly rank: string
}

export const searchDocuments = statement<Params, FoundDocument>(
  'search_documents',
  `-- reads documents that a search takes, the best first, on document_text_search: words stemmed as those of the document's own language
with asked as materialized (
  select l.language, websearch_to_tsquery(mdm.document_language(l.language), $4) as query
    from unnest(array['de', 'en', null]) l(language)),
found as (
  select d.*, ts_rank(t.content_tsv, a.query, 32) as rank
    from asked a
    join mdm.document_text t on t.content_tsv @@ a.query
    join mdm.documents d on d.id = t.document_id and d.language is not distinct from a.language
   where ($1::uuid[] is null or d.tenant_id = any ($1)))
select ${documentRowColumns}, d.rank::text as rank
  from found d
 where ${documentHasTerm}
   and ($3::text[] is null or ${documentStatus} = any ($3))
   and ($5::real is null or (d.rank, d.id) < ($5, $6::uuid))
 order by d.rank desc, d.id desc
 limit $7::int`,
)
