import type { TitleHints } from '../jobs/derive-title.ts'
import { statement } from './statement.ts'

export const readDocumentText = statement<[documentId: string], { content: string; titleHints: TitleHints }>(
  'read_document_text',
  `-- reads what the last reading of a document left, for runs that begin behind it
select content, title_hints as "titleHints" from mdm.document_text where document_id = $1::uuid`,
)
