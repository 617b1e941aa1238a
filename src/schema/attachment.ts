import { commitUpload } from '../resolvers/commit-upload.ts'
import { findEntity } from '../resolvers/list-entities.ts'
import { attachmentUrl, type AttachmentResult } from '../resolvers/own-attachment.ts'
import { requestUpload, type RequestUploadResult } from '../resolvers/request-upload.ts'
import { rescanAttachment } from '../resolvers/rescan-attachment.ts'
import type { AttachmentRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { EntityRef } from './entities.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const VirusScanStatusRef = builder.enumType('VirusScanStatus', {
  description: 'What the scan found.',
  values: {
    NONE: { value: 'none', description: 'Not uploaded yet.' },
    PENDING: { value: 'pending', description: 'Waits for its scan.' },
    SCANNING: { value: 'scanning', description: 'Being scanned.' },
    CLEAN: { value: 'clean', description: 'Clean: can be downloaded.' },
    INFECTED: { value: 'infected', description: 'Infected: locked in quarantine.' },
    UNSCANNABLE: { value: 'unscannable', description: 'Cannot be judged (too large, encrypted, too deep): locked.' },
    ERROR: { value: 'error', description: 'The scan failed for good: locked.' },
  } as const,
})

export const AttachmentRef = builder.objectRef<AttachmentRow>('Attachment').implement({
  description: 'An uploaded file.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `attachment_${id}` }),
    tenant: t.field({
      type: TenantRef,
      description: 'Its tenant.',
      resolve: async ({ tenantId }, _, { loaders }) => (await loaders.tenants.load(tenantId))!,
    }),
    entity: t.field({
      type: EntityRef,
      nullable: true,
      description: 'The entity it belongs to.',
      resolve: ({ entityId }, _, context) =>
        entityId !== null && context.caller?.scopes.has('READ_PAYLOADS') ? findEntity(entityId, context) : null,
    }),
    filename: t.exposeString('filename', { description: 'File name.' }),
    sizeBytes: t.expose('sizeBytes', { type: 'SafeInt', nullable: true, description: 'Size in bytes, once uploaded.' }),
    contentType: t.exposeString('detectedType', { nullable: true, description: 'Type found in the bytes.' }),
    sha256: t.exposeString('sha256', { nullable: true, description: 'SHA-256, once scanned.' }),
    virusScanStatus: t.expose('virusScanStatus', { type: VirusScanStatusRef, description: 'What the scan found.' }),
    virusSignature: t.exposeString('virusSignature', { nullable: true, description: 'Name of what was found.' }),
    scannedAt: t.expose('scannedAt', { type: 'DateTime', nullable: true, description: 'When it was scanned.' }),
    downloadUrl: t.string({
      nullable: true,
      description: 'Where to download it, for five minutes. Null unless CLEAN, and without `READ_PAYLOADS`.',
      resolve: (row, _, context) => attachmentUrl(row, context),
    }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'The job of its last scan.',
      resolve: ({ jobId }, _, { caller, loaders }) =>
        jobId !== null && caller?.scopes.has('READ_JOBS') ? loaders.jobs.load(jobId) : null,
    }),
  }),
})

const RequestUploadInputRef = builder.inputType('RequestUploadInput', {
  description: 'An upload to prepare.',
  fields: (t) => ({
    tenantId: t.id({ description: 'Its tenant.' }),
    entityId: t.id({ description: 'The entity it belongs to.' }),
    filename: t.string({ required: true, description: 'File name.' }),
    sizeBytes: t.field({ type: 'SafeInt', required: true, description: 'Exact size in bytes.' }),
    contentType: t.string({ required: true, description: 'Type.' }),
  }),
})

const RequestUploadPayloadRef = builder.objectRef<RequestUploadResult>('RequestUploadPayload').implement({
  description: 'Where to put the bytes.',
  fields: (t) => ({
    attachment: t.expose('attachment', {
      type: AttachmentRef,
      nullable: true,
      description: 'The attachment, without bytes yet.',
    }),
    uploadUrl: t.exposeString('uploadUrl', {
      nullable: true,
      description: 'PUT the bytes here with exactly the announced size and type, within ten minutes.',
    }),
    uploadHeaders: t.expose('uploadHeaders', {
      type: 'JSON',
      nullable: true,
      description: 'Headers to send along.',
    }),
    errors: errorsOf(t),
  }),
})

const AttachmentPayloadRef = builder.objectRef<AttachmentResult>('AttachmentPayload').implement({
  description: 'Result of a change to an attachment.',
  fields: (t) => ({
    attachment: t.expose('attachment', {
      type: AttachmentRef,
      nullable: true,
      description: 'The attachment as it is now.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('requestUpload', (t) =>
  t.field({
    type: RequestUploadPayloadRef,
    description: 'Prepare an upload.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['ENQUEUE_JOBS']] } },
    ],
    args: { input: t.arg({ type: RequestUploadInputRef, required: true }) },
    resolve: (_, { input }, context) => requestUpload(input, context),
  }),
)

builder.mutationField('commitUpload', (t) =>
  t.field({
    type: AttachmentPayloadRef,
    description: 'The bytes are there: checks them and enqueues the scan in the same transaction.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['ENQUEUE_JOBS']] } },
    ],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, args, context) => commitUpload(args, context),
  }),
)

builder.mutationField('rescanAttachment', (t) =>
  t.field({
    type: AttachmentPayloadRef,
    description: 'Scan again.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, args, context) => rescanAttachment(args, context),
  }),
)
