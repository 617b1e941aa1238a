import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { listBulkOperations as list } from '../sql/list-bulk-operations.ts'
import { readBulkOperation } from '../sql/read-bulk-operation.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page, type PageArgs } from './page.ts'

const order = 'bulk'

/** Operations that take only jobs of the caller's tenants, newest first. */
export async function listBulkOperations(args: PageArgs, context: RequestContext): Promise<Page<BulkOperationRow>> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const plan = planPage(args)
  const [before = null] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[0-9a-f-]{36}$/)
  const rows = await list(
    context.deps.pools.api,
    tenantPredicate(caller),
    actorOf(caller.principal),
    before,
    plan.size + 1,
  )
  return pageOf(plan, rows, ({ id }) => encodeCursor(order, [id]))
}

/** One operation by its uuid; null: none of the caller's. */
export async function findBulkOperation(id: string, context: RequestContext): Promise<BulkOperationRow | null> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const [row] = await readBulkOperation(context.deps.pools.api, tenantPredicate(caller), actorOf(caller.principal), id)
  return row ?? null
}
