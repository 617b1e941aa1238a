import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { cancelBulkOperation as cancel } from '../sql/cancel-bulk-operation.ts'
import { authorize, type RequestContext } from './context.ts'
import { findBulkOperation } from './list-bulk-operations.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid, type UserError } from './user-error.ts'

export interface BulkOperationResult {
  readonly operation: BulkOperationRow | null
  readonly errors: readonly UserError[]
}

/** Ends an operation after the batch that is under way. One that was cancelled before is answered as it is. */
export async function cancelBulkOperation(
  { id }: { readonly id: string },
  context: RequestContext,
): Promise<BulkOperationResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const uuid = parseUuidOf('bulk', id)
  const { pools, wakeup, events } = context.deps
  const [ended] =
    uuid === null
      ? []
      : await cancel(pools.api, tenantPredicate(caller), actorOf(caller.principal), uuid, context.requestId)
  if (ended !== undefined) {
    wakeup.signal('journal')
    const { id: operationId, action, matched, succeeded, skipped } = ended
    events.emit({ type: 'bulk:ended', operationId, action, status: 'cancelled', matched, succeeded, skipped })
    return { operation: ended, errors: [] }
  }
  const operation = uuid === null ? null : await findBulkOperation(uuid, context)
  if (operation === null) {
    const message = 'There is no such bulk operation of your tenants.'
    return { operation, errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id }] }
  }
  if (operation.status === 'cancelled') return { operation, errors: [] }
  return { operation, errors: [invalid(['id'], `The operation has ended already: ${operation.status.toUpperCase()}.`)] }
}
