import { badText } from '../jobs/payload.ts'
import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import { listSuppressions as read } from '../sql/list-suppressions.ts'
import { readSuppression } from '../sql/read-suppression.ts'
import type { SuppressionRow } from '../sql/suppression-row.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

interface SuppressionsInput {
  readonly search?: string | null | undefined
  readonly tenantId?: string | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'suppressions'

/** Suppressed addresses of the caller's tenants, newest first; those for all are seen by who may act for all. */
export async function listSuppressions(
  { search, tenantId, ...page }: SuppressionsInput,
  context: RequestContext,
): Promise<Page<SuppressionRow>> {
  const caller = authorize(context, [['READ_AUDIT']])
  const plan = planPage(page)
  const [before = null] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[0-9a-f-]{36}$/)
  const part = search?.trim() || null
  if (part !== null && badText(part) !== null) {
    throw new ApiError('BAD_USER_INPUT', `\`search\` ${badText(part)}`, { reason: 'INVALID' })
  }
  const tenant = tenantId == null ? null : await context.deps.tenantKeys.find(tenantId)
  const chosen = tenant !== null && mayActFor(caller, tenant.id) ? [tenant.id] : []
  const tenants = tenantId == null ? tenantPredicate(caller) : chosen
  const rows = await boundedRead(context.deps.pools.api, (db) => read(db, tenants, part, before, plan.size + 1))
  return pageOf(plan, rows, ({ id }) => encodeCursor(order, [id]))
}

/** One suppression by its uuid; null: none of the caller's. */
export async function findSuppression(id: string, context: RequestContext): Promise<SuppressionRow | null> {
  const caller = authorize(context, [['READ_AUDIT']])
  return (await readSuppression(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}
