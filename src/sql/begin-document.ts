import type { DocumentLanguage } from '../jobs/detect-language.ts'
import { statement } from './statement.ts'
import type { TitleSource } from './document-row.ts'

/** What a run starts from. */
export interface BegunDocument {
  readonly archiveKey: string
  readonly sha256: string
  readonly sizeBytes: string
  readonly mimeType: string
  readonly filename: string
  readonly title: string | null
  readonly titleSource: TitleSource | null
  readonly language: DocumentLanguage | null
  readonly pageCount: number | null
  /** How often the reader of this document had to be killed. */
  readonly readerKills: number
}

export const beginDocument = statement<[documentId: string, tenantId: string, jobId: string], BegunDocument>(
  'begin_document',
  `-- a document is being read, by this job; by its primary key
update mdm.documents d
   set processing_status = 'processing', processing_error = null, job_id = $3::uuid
 where d.id = $1::uuid and d.tenant_id = $2::uuid
returning d.archive_key as "archiveKey", d.content_sha256 as sha256, d.size_bytes::text as "sizeBytes", d.mime_type as "mimeType", d.filename, d.title,
          d.title_source as "titleSource", d.language, d.page_count as "pageCount", d.reader_kills as "readerKills"`,
)
