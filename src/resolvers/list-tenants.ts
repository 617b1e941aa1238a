import { tenantPredicate } from '../jobs/permissions.ts'
import { listTenants as read } from '../sql/list-tenants.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import type { Scope } from '../jobs/permissions.ts'
import { ApiError } from './api-error.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

interface TenantsInput {
  readonly search?: string | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'tenants'

/** The caller's tenants, by name. */
export async function listTenants(input: TenantsInput, context: RequestContext): Promise<Page<TenantRow>> {
  return pageOfTenants(input, context, [['READ_JOBS']])
}

/** The tenants that the caller may act for, whatever else they may. */
export async function listOwnTenants(input: TenantsInput, context: RequestContext): Promise<Page<TenantRow>> {
  return pageOfTenants(input, context, [])
}

async function pageOfTenants(
  input: TenantsInput,
  context: RequestContext,
  scopes: readonly Scope[][],
): Promise<Page<TenantRow>> {
  const caller = authorize(context, scopes)
  const plan = planPage(input)
  const [afterName = null, afterKey = null] =
    plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[^\0]{1,400} [a-z0-9_-]{1,63}$/)
  const search = input.search?.trim() || null
  if (search?.includes('\0'))
    throw new ApiError('BAD_USER_INPUT', '`search` must not hold a NUL character.', { reason: 'INVALID' })
  const rows = await read(context.deps.pools.api, tenantPredicate(caller), search, afterName, afterKey, plan.size + 1)
  return pageOf(plan, rows, (tenant) => encodeCursor(order, [tenant.name, tenant.key]))
}
