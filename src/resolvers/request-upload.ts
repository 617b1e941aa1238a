import { actorOf } from '../jobs/permissions.ts'
import { badFilename, isMediaType } from '../jobs/upload-name.ts'
import type { AttachmentRow } from '../sql/attachment-row.ts'
import { createAttachment } from '../sql/create-attachment.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid, type UserError } from './user-error.ts'

interface RequestUploadInput {
  readonly tenantId?: string | null | undefined
  readonly entityId?: string | null | undefined
  readonly filename: string
  readonly sizeBytes: number
  readonly contentType: string
}

export interface RequestUploadResult {
  readonly attachment: AttachmentRow | null
  readonly uploadUrl: string | null
  readonly uploadHeaders: Readonly<Record<string, string>> | null
  readonly errors: readonly UserError[]
}

const urlForMs = 10 * 60 * 1_000

/** Prepares an upload: a row without bytes, and a URL that takes exactly the announced size and type. */
export async function requestUpload(input: RequestUploadInput, context: RequestContext): Promise<RequestUploadResult> {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const { pools, objects, maxUploadBytes } = context.deps
  const { filename, sizeBytes, contentType } = input
  const tenant = await chooseTenant(context, caller, input.tenantId ?? null, ['tenantId'])
  const entityId = input.entityId == null ? null : parseUuidOf('entity', input.entityId)
  const nameProblem = badFilename(filename)
  const errors = [
    ...(tenant.ok ? [] : [tenant.error]),
    ...(input.entityId != null && entityId === null ? [noEntity(input.entityId)] : []),
    ...(nameProblem === null ? [] : [invalid(['filename'], `filename ${nameProblem}`)]),
    ...badSize(sizeBytes, maxUploadBytes),
    ...(isMediaType(contentType)
      ? []
      : [invalid(['contentType'], 'contentType must be a media type such as application/pdf.')]),
  ]
  if (errors.length > 0 || !tenant.ok) return refused(errors)
  const actor = actorOf(caller.principal)
  const { id } = objects.store
  const [row] = await createAttachment(
    pools.api,
    tenant.tenantId,
    entityId,
    filename,
    contentType,
    sizeBytes,
    id,
    urlForMs,
    actor,
  )
  if (row === undefined) return refused([noEntity(input.entityId!)])
  const { url, headers } = await objects.links.upload(row.incomingKey, {
    sizeBytes,
    contentType,
    expiresInMs: urlForMs,
  })
  return { attachment: row, uploadUrl: url, uploadHeaders: headers, errors: [] }
}

function refused(errors: readonly UserError[]): RequestUploadResult {
  return { attachment: null, uploadUrl: null, uploadHeaders: null, errors }
}

function noEntity(id: string): UserError {
  return { type: 'NotFoundError', code: 'NOT_FOUND', message: 'No such entity in this tenant.', path: ['entityId'], id }
}

function badSize(sizeBytes: number, limit: number): UserError[] {
  if (sizeBytes < 1) return [invalid(['sizeBytes'], 'sizeBytes must be at least 1: an empty file cannot be uploaded.')]
  if (sizeBytes <= limit) return []
  const message = `sizeBytes is above ${limit}, the largest upload that is taken here (STELLWERK_MAX_UPLOAD_MB).`
  return [{ type: 'LimitError', code: 'LIMIT_EXCEEDED', message, path: ['sizeBytes'], limit, actual: sizeBytes }]
}
