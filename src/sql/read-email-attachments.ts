import type { UploadStatus, VirusScanStatus } from './attachment-row.ts'
import { statement } from './statement.ts'

/** What a mail needs to know of a file that goes along. */
export interface EmailAttachmentRow {
  readonly id: string
  readonly filename: string
  readonly uploadStatus: UploadStatus
  readonly status: VirusScanStatus
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly detectedType: string | null
  readonly store: string
  readonly objectKey: string | null
}

export const readEmailAttachments = statement<[ids: readonly string[], tenantId: string], EmailAttachmentRow>(
  'read_email_attachments',
  `-- reads the attachments of a mail, by the primary key; those of other tenants are not found
select a.id, a.filename, a.upload_status as "uploadStatus", a.virus_scan_status as status, a.size_bytes::float8 as "sizeBytes", a.sha256,
       a.detected_type as "detectedType", a.store, a.object_key as "objectKey"
  from mdm.ddm_attachment a
 where a.id = any ($1::uuid[]) and a.tenant_id = $2`,
)
