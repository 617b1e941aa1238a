import type { DocumentLanguage } from '../jobs/detect-language.ts'
import { statement } from './statement.ts'
import type { TitleSource } from './document-row.ts'

type Params = [
  documentId: string,
  language: DocumentLanguage | null,
  pageCount: number | null,
  /** Null: the title stays. */
  title: string | null,
  titleSource: TitleSource | null,
]

export const finishDocument = statement<Params, { title: string | null }>(
  'finish_document',
  `-- a document has been read; a title that a person has given meanwhile stands
update mdm.documents d
   set processing_status = 'done', processing_error = null, reader_kills = 0, language = $2, page_count = $3::int,
       title = case when d.title_source = 'user' or $4::text is null then d.title else $4 end,
       title_source = case when d.title_source = 'user' or $4 is null then d.title_source else $5::text end
 where d.id = $1::uuid
returning d.title`,
)
