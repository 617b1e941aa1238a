import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  archiveKey: string,
  sha256: string,
  sizeBytes: number,
  mimeType: string,
  filename: string,
  uploadedBy: string,
]

export const storeDocument = statement<Params, { id: string }>(
  'store_document',
  `-- a document whose bytes are in the archive; its job follows in the same transaction
insert into mdm.documents (tenant_id, archive_key, content_sha256, size_bytes, mime_type, filename, uploaded_by)
values ($1::uuid, $2, $3, $4::bigint, $5, $6, $7)
returning id`,
)
