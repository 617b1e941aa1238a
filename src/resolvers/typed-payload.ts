import { parseUuidOf } from './node-id.ts'

/** The input `JobInput`: exactly one of its fields is set. */
export interface JobInput {
  readonly emailSend?: EmailSendInput | null | undefined
  readonly bulkImport?: { readonly importId: string; readonly batchSize?: number | null | undefined } | null | undefined
  readonly virusScan?: { readonly attachmentId: string } | null | undefined
  readonly reindex?: { readonly typeKey: string } | null | undefined
  readonly indexSync?: { readonly attributeId: string } | null | undefined
  readonly ginBackfill?: { readonly typeKey: string } | null | undefined
  readonly documentProcess?: { readonly documentId: string; readonly deriveTitle: boolean } | null | undefined
  readonly custom?: { readonly kind: string; readonly payload?: unknown } | null | undefined
}

interface EmailAddressInput {
  readonly address: string
  readonly name?: string | null | undefined
}

interface EmailSendInput {
  readonly to: EmailAddressInput
  readonly template?:
    | { readonly key: string; readonly locale?: string | null | undefined; readonly variables?: unknown }
    | null
    | undefined
  readonly content?:
    | { readonly subject: string; readonly text: string; readonly html?: string | null | undefined }
    | null
    | undefined
  readonly from?: string | null | undefined
  readonly replyTo?: EmailAddressInput | null | undefined
  readonly headers?: unknown
  readonly attachmentIds?: readonly string[] | null | undefined
  /** As stored: lower case. */
  readonly category: string
  readonly onUnknown?: string | null | undefined
}

/** What to enqueue, and where in the input its payload stands. */
export interface TypedPayload {
  readonly kind: string
  readonly payload: unknown
  readonly path: readonly string[]
}

/** The stored payload is the typed input in snake_case: what SQL callers and `custom` write themselves. A null is a field left out. */
export function typedPayload(job: JobInput): TypedPayload {
  if (job.emailSend != null)
    return { kind: 'email_send', payload: emailSendPayload(job.emailSend), path: ['job', 'emailSend'] }
  if (job.bulkImport != null) {
    const { importId, batchSize } = job.bulkImport
    const payload = given({ import_job_id: bare('import', importId), phase: 'commit', batch_size: batchSize })
    return { kind: 'bulk_import', payload, path: ['job', 'bulkImport'] }
  }
  if (job.virusScan != null) {
    const payload = { attachment_id: bare('attachment', job.virusScan.attachmentId) }
    return { kind: 'virus_scan', payload, path: ['job', 'virusScan'] }
  }
  if (job.reindex != null)
    return { kind: 'reindex', payload: { type_key: job.reindex.typeKey }, path: ['job', 'reindex'] }
  if (job.indexSync != null) {
    const payload = { attribute_id: bare('attribute', job.indexSync.attributeId) }
    return { kind: 'index_sync', payload, path: ['job', 'indexSync'] }
  }
  if (job.ginBackfill != null)
    return { kind: 'gin_backfill', payload: { type_key: job.ginBackfill.typeKey }, path: ['job', 'ginBackfill'] }
  if (job.documentProcess != null) {
    const { documentId, deriveTitle } = job.documentProcess
    const payload = { document_id: bare('document', documentId), derive_title: deriveTitle }
    return { kind: 'document_process', payload, path: ['job', 'documentProcess'] }
  }
  const { kind, payload } = job.custom!
  return { kind, payload, path: customPath }
}

const customPath = ['job', 'custom', 'payload']

function emailSendPayload({
  onUnknown,
  replyTo,
  to,
  template,
  content,
  attachmentIds,
  ...rest
}: EmailSendInput): unknown {
  return given({
    ...rest,
    to: given({ ...to }),
    template: template && given({ ...template }),
    content: content && given({ ...content }),
    reply_to: replyTo && given({ ...replyTo }),
    on_unknown: onUnknown,
    attachment_ids: attachmentIds?.map((id) => bare('attachment', id)),
  })
}

/** A node id as payloads have it; what is none is left for the payload's schema to refuse. */
function bare(type: Parameters<typeof parseUuidOf>[0], id: string): string {
  return parseUuidOf(type, id) ?? id
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
