import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { readSuppression } from '../sql/read-suppression.ts'
import { removeSuppression as remove } from '../sql/remove-suppression.ts'
import { mayActForAll, type SuppressionResult } from './add-suppression.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'
import { badReason } from './reason.ts'

interface RemoveSuppressionInput {
  readonly id: string
  readonly reason?: string | null | undefined
}

/** Lets an address get email again. */
export async function removeSuppression(
  { id, reason = null }: RemoveSuppressionInput,
  context: RequestContext,
): Promise<SuppressionResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const errors = badReason(reason)
  if (errors.length > 0) return { suppression: null, errors }
  const { pools, wakeup } = context.deps
  const tenants = tenantPredicate(caller)
  const uuid = parseUuidOf('suppression', id)
  const [found] = uuid === null ? [] : await readSuppression(pools.api, uuid, tenants)
  if (found?.tenantId === null) mayActForAll(context)
  const [row] =
    found === undefined
      ? []
      : await remove(pools.api, found.id, tenants, reason || null, actorOf(caller.principal), context.requestId)
  if (row === undefined) {
    const message = 'No such suppression among yours.'
    return { suppression: null, errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id }] }
  }
  wakeup.signal('journal')
  return { suppression: row, errors: [] }
}
