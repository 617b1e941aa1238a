import { statement } from './statement.ts'

export const setDocumentTitle = statement<[documentId: string, title: string | null], { id: string }>(
  'set_document_title',
  `-- a title that later runs leave alone; null: the next run derives one
update mdm.documents d
   set title = $2::text, title_source = case when $2 is not null then 'user' end
 where d.id = $1::uuid
returning d.id`,
)
