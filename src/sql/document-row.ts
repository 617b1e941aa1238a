import type { DocumentLanguage } from '../jobs/detect-language.ts'

export type DocumentStatus = 'pending' | 'processing' | 'done' | 'failed'
export type TitleSource = 'user' | 'metadata' | 'content' | 'filename'

/** A document as it is read; its text is read apart. */
export interface DocumentRow {
  readonly id: string
  readonly tenantId: string
  readonly jobId: string | null
  readonly filename: string
  readonly contentType: string
  /** Text, since a bigint is more than a number. */
  readonly sizeBytes: string
  readonly sha256: string
  readonly title: string | null
  readonly titleSource: TitleSource | null
  readonly language: DocumentLanguage | null
  readonly pageCount: number | null
  readonly processingStatus: DocumentStatus
  readonly processingError: string | null
  readonly createdAt: Date
}

/** Between two tries a document is not being read, whatever its last reader had no time to say. */
export const documentStatus = `case when d.processing_status = 'processing'
              and not exists (select from mdm.aa_job j where j.id = d.job_id and j.status = 'running') then 'pending' else d.processing_status end`

/** The select list that makes a DocumentRow of the alias `d`. */
export const documentRowColumns = `d.id, d.tenant_id as "tenantId", d.job_id as "jobId", d.filename, d.mime_type as "contentType", d.size_bytes::text as "sizeBytes",
       d.content_sha256 as sha256, d.title, d.title_source as "titleSource", d.language, d.page_count as "pageCount",
       ${documentStatus} as "processingStatus", d.processing_error as "processingError", d.created_at as "createdAt"`
