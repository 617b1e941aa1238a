import { mayActFor, type Caller } from '../jobs/permissions.ts'
import type { RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

export type ChosenTenant =
  | { readonly ok: true; readonly tenantId: string }
  | { readonly ok: false; readonly error: UserError }

/**
 * For whom a call acts: the tenant that it names, if the caller may act for it; else the only one that the caller has.
 * Callers with several get `default` in development, and in production have to say.
 */
export async function chooseTenant(
  context: RequestContext,
  caller: Caller,
  named: string | null,
  path: readonly string[],
): Promise<ChosenTenant> {
  if (named !== null) return findTenant(context, caller, named, path)
  if (caller.tenantIds !== 'all' && caller.tenantIds.size === 1) {
    const [tenantId] = caller.tenantIds
    return { ok: true, tenantId: tenantId! }
  }
  if (context.deps.environment === 'development') {
    const standard = await findTenant(context, caller, 'default', path)
    if (standard.ok) return standard
  }
  const message =
    caller.tenantIds !== 'all' && caller.tenantIds.size === 0
      ? 'This token is for no tenant. Ask an administrator for one that names a tenant.'
      : 'You may act for several tenants: say for which one.'
  return { ok: false, error: invalid(path, message) }
}

async function findTenant(
  context: RequestContext,
  caller: Caller,
  named: string,
  path: readonly string[],
): Promise<ChosenTenant> {
  const tenant = await context.deps.tenantKeys.find(named)
  if (tenant !== null && mayActFor(caller, tenant.id)) return { ok: true, tenantId: tenant.id }
  return {
    ok: false,
    error: { type: 'NotFoundError', code: 'NOT_FOUND', message: 'No such tenant among yours.', path, id: named },
  }
}
