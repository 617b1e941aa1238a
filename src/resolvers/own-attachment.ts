import { tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { AttachmentRow } from '../sql/attachment-row.ts'
import { readAttachments } from '../sql/read-attachments.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'
import type { UserError } from './user-error.ts'

export interface AttachmentResult {
  readonly attachment: AttachmentRow | null
  readonly errors: readonly UserError[]
}

/** An attachment that a mutation names, among the caller's tenants. */
export async function findOwnAttachment(
  named: string,
  { deps }: RequestContext,
  caller: Caller,
): Promise<
  { readonly ok: true; readonly row: AttachmentRow } | { readonly ok: false; readonly result: AttachmentResult }
> {
  const id = parseUuidOf('attachment', named)
  const [row] = id === null ? [] : await readAttachments(deps.pools.api, [id], tenantPredicate(caller))
  if (row !== undefined) return { ok: true, row }
  const message = 'No such attachment among yours.'
  return {
    ok: false,
    result: {
      attachment: null,
      errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id: named }],
    },
  }
}

/** One attachment by its uuid; null: there is none that the caller may see. */
export async function findAttachment(id: string, context: RequestContext): Promise<AttachmentRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readAttachments(context.deps.pools.api, [id], tenantPredicate(caller)))[0] ?? null
}

const urlForMs = 5 * 60 * 1_000

/** Where its bytes can be downloaded for five minutes. Null unless they are clean and the caller may read content. */
export async function attachmentUrl(row: AttachmentRow, { caller, deps }: RequestContext): Promise<string | null> {
  const { virusScanStatus, objectKey, store, filename, detectedType } = row
  if (virusScanStatus !== 'clean' || objectKey === null || caller?.scopes.has('READ_PAYLOADS') !== true) return null
  // In another instance's folder: that one gives its URL.
  if (store !== deps.objects.store.id) return null
  const contentType = detectedType ?? 'application/octet-stream'
  return deps.objects.links.download(objectKey, { filename, contentType, expiresInMs: urlForMs })
}
