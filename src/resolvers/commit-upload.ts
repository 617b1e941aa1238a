import { ApiError } from './api-error.ts'
import type { AttachmentRow } from '../sql/attachment-row.ts'
import { commitAttachment } from '../sql/commit-attachment.ts'
import type { ObjectFacts } from '../objects/object-store.ts'
import { authorize, type RequestContext } from './context.ts'
import { enqueueScan, wasRefused } from './enqueue-scan.ts'
import { findOwnAttachment, type AttachmentResult } from './own-attachment.ts'
import { invalid } from './user-error.ts'

/** Checks that the bytes are there as they were announced; the attachment waits for its scan, whose job is enqueued in the same transaction. */
export async function commitUpload(
  { id }: { readonly id: string },
  context: RequestContext,
): Promise<AttachmentResult> {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const found = await findOwnAttachment(id, context, caller)
  if (!found.ok) return found.result
  const { row } = found
  if (row.uploadStatus !== 'pending_upload') return { attachment: row, errors: [] }
  if (row.store !== context.deps.objects.store.id) return refused(elsewhere)
  const facts = await statObject(row.incomingKey, context)
  if (facts === null) return refused(missing(row))
  if (facts.sizeBytes !== row.announcedBytes)
    return refused(`There are ${facts.sizeBytes} bytes, ${row.announcedBytes} were announced. Ask for a new upload.`)
  try {
    const committed = await enqueueScan(row, context, caller, 'commit', async (tx) => {
      const [order] = await commitAttachment(tx, row.id, facts.sizeBytes, facts.etag)
      return order === undefined ? null : { etag: facts.etag, scans: order.scans }
    })
    if (committed !== null) return { attachment: committed, errors: [] }
  } catch (error) {
    if (wasRefused(error)) return refused('The scan of this upload is refused: its tenant is closed.')
    throw error
  }
  // Another call has committed it meanwhile, or it was given up.
  const again = await findOwnAttachment(id, context, caller)
  return again.ok ? { attachment: again.row, errors: [] } : again.result
}

const elsewhere =
  'The bytes were sent to another instance, which keeps them in a folder of its own. Commit there; or an operator lets the instances share STELLWERK_OBJECTS_DIR or a bucket.'

function refused(message: string): AttachmentResult {
  return { attachment: null, errors: [invalid(['id'], message)] }
}

function missing({ uploadExpiresAt }: AttachmentRow): string {
  return uploadExpiresAt.getTime() > Date.now()
    ? 'There are no bytes yet. PUT them to the uploadUrl first.'
    : 'No bytes were sent while the uploadUrl was good. Ask for a new upload.'
}

async function statObject(key: string, { deps }: RequestContext): Promise<ObjectFacts | null> {
  try {
    return await deps.objects.store.stat(key)
  } catch (error) {
    deps.events.emit({ type: 'loop:failed', loop: 'object store', error: error as Error })
    throw new ApiError('SERVICE_UNAVAILABLE', 'The object store does not answer at the moment. Try again shortly.')
  }
}
