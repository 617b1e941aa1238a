import { restartScan } from '../sql/restart-scan.ts'
import { authorize, type RequestContext } from './context.ts'
import { enqueueScan, wasRefused } from './enqueue-scan.ts'
import { findOwnAttachment, type AttachmentResult } from './own-attachment.ts'
import { invalid } from './user-error.ts'

/** Lets a file be judged again, e.g. with newer signatures. It is locked until then; a scan that is under way already will do. */
export async function rescanAttachment(
  { id }: { readonly id: string },
  context: RequestContext,
): Promise<AttachmentResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const found = await findOwnAttachment(id, context, caller)
  if (!found.ok) return found.result
  const { row } = found
  if (row.uploadStatus === 'pending_upload') return refused('There are no bytes to scan yet. Commit the upload first.')
  if (row.uploadStatus === 'deleted') return refused('The bytes were deleted from quarantine. Upload the file again.')
  try {
    const changed = await enqueueScan(
      row,
      context,
      caller,
      'rescan',
      async (tx) => (await restartScan(tx, row.id))[0] ?? null,
    )
    if (changed !== null) return { attachment: changed, errors: [] }
  } catch (error) {
    if (wasRefused(error)) return refused('The scan is refused: the tenant of this file is closed.')
    throw error
  }
  const again = await findOwnAttachment(id, context, caller)
  return again.ok ? { attachment: again.row, errors: [] } : again.result
}

function refused(message: string): AttachmentResult {
  return { attachment: null, errors: [invalid(['id'], message)] }
}
