import { statement } from './statement.ts'

/** What the last reading of a document brought. */
export interface DocumentReading {
  readonly documentId: string
  readonly engine: string
  readonly confidence: number | null
}

type Params = [documentIds: readonly string[], tenantIds: readonly string[] | null]

export const readDocumentReadings = statement<Params, DocumentReading>(
  'read_document_readings',
  `-- reads how documents were read, by primary key, without their text
select t.document_id as "documentId", t.engine, t.ocr_confidence as confidence
  from mdm.document_text t join mdm.documents d on d.id = t.document_id
 where t.document_id = any ($1::uuid[]) and ($2::uuid[] is null or d.tenant_id = any ($2))`,
)
