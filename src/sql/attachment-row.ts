export type UploadStatus = 'pending_upload' | 'committed' | 'deleted'

export type VirusScanStatus = 'none' | 'pending' | 'scanning' | 'clean' | 'infected' | 'unscannable' | 'error'

/** An uploaded file as it is read. */
export interface AttachmentRow {
  readonly id: string
  readonly tenantId: string
  readonly entityId: string | null
  readonly filename: string
  readonly declaredType: string
  readonly detectedType: string | null
  readonly announcedBytes: number
  /** Null until the upload was committed. */
  readonly sizeBytes: number | null
  readonly sha256: string | null
  readonly uploadStatus: UploadStatus
  readonly uploadExpiresAt: Date
  /** The object store that holds the bytes. */
  readonly store: string
  readonly incomingKey: string
  /** Null: the bytes are still at `incomingKey`, or deleted. */
  readonly objectKey: string | null
  readonly virusScanStatus: VirusScanStatus
  readonly virusSignature: string | null
  readonly scannedAt: Date | null
  readonly jobId: string | null
}

/** The select list that makes an AttachmentRow of the alias `a`. */
export const attachmentRowColumns = `a.id, a.tenant_id as "tenantId", a.entity_id as "entityId", a.filename, a.declared_type as "declaredType",
       a.detected_type as "detectedType", a.announced_bytes::float8 as "announcedBytes", a.size_bytes::float8 as "sizeBytes", a.sha256,
       a.upload_status as "uploadStatus", a.upload_expires_at as "uploadExpiresAt", a.store, a.incoming_key as "incomingKey",
       a.object_key as "objectKey", a.virus_scan_status as "virusScanStatus", a.virus_signature as "virusSignature",
       a.scanned_at as "scannedAt", a.job_id as "jobId"`
