import { statement } from './statement.ts'

type Params = [
  documentId: string,
  engine: string,
  engineVersion: string | null,
  confidence: number | null,
  content: string,
  pagesJson: string,
  titleHintsJson: string,
]

export const saveDocumentText = statement<Params, never>(
  'save_document_text',
  `-- a document's text as it was read, in place of an older reading; what it is found by follows with its title
insert into mdm.document_text as t (document_id, engine, engine_version, ocr_confidence, content, pages, title_hints)
values ($1::uuid, $2, $3, $4::real, $5, $6::jsonb, $7::jsonb)
on conflict (document_id) do update set
       engine = excluded.engine, engine_version = excluded.engine_version, ocr_confidence = excluded.ocr_confidence, content = excluded.content,
       pages = excluded.pages, title_hints = excluded.title_hints, created_at = now()`,
)
