import { documentRowColumns, documentStatus, type DocumentRow } from './document-row.ts'
import { statement } from './statement.ts'

type Params = [
  tenantIds: readonly string[] | null,
  termPath: string | null,
  statuses: readonly string[] | null,
  beforeId: string | null,
  limit: number,
]

/** Has the term $2, or one below it. */
export const documentHasTerm = `($2::text is null or exists (
         select from mdm.document_term dt join mdm.taxonomy_term x on x.id = dt.term_id
          where dt.document_id = d.id and (x.path = $2 or starts_with(x.path, $2 || '/'))))`

export const listDocuments = statement<Params, DocumentRow>(
  'list_documents',
  `-- reads documents, newest first, on the primary key or documents_newest; null: no restriction
select ${documentRowColumns}
  from mdm.documents d
 where ($1::uuid[] is null or d.tenant_id = any ($1))
   and ${documentHasTerm}
   and ($3::text[] is null or ${documentStatus} = any ($3))
   and ($4::uuid is null or d.id < $4)
 order by d.id desc
 limit $5::int`,
)
