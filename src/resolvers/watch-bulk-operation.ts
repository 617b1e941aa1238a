import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { ApiError } from './api-error.ts'
import { authorize, type RequestContext } from './context.ts'
import { findBulkOperation } from './list-bulk-operations.ts'
import { parseUuidOf } from './node-id.ts'
import { openStream } from './open-stream.ts'

/** A person can follow no more. */
const leastMs = 100
const pollMs = 1_000

/** An operation as it is at once, then its progress, until it has ended. Throws NOT_FOUND where it is none of the caller's. */
export async function watchBulkOperation(
  id: string,
  context: RequestContext,
): Promise<AsyncIterableIterator<BulkOperationRow>> {
  authorize(context, [['MANAGE_METADATA']])
  const uuid = parseUuidOf('bulk', id)
  if (uuid === null) throw new ApiError('NOT_FOUND', 'There is no such bulk operation of your tenants.')
  const stream = context.deps.relay.watchState<BulkOperationRow>({
    read: () => findBulkOperation(uuid, context),
    isSame: (told, now) =>
      told.status === now.status && told.succeeded === now.succeeded && told.skipped === now.skipped,
    isLast: ({ finishedAt }) => finishedAt !== null,
    topic: 'journal',
    leastMs,
    pollMs,
  })
  return openStream(stream, { speaksAtOnce: true })
}
