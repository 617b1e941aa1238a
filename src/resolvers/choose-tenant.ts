import { mayActFor, type Caller } from '../jobs/permissions.ts'
import type { RequestContext } from './context.ts'
import type { TenantName } from './tenant-keys.ts'
import { invalid, type UserError } from './user-error.ts'

export type ChosenTenant =
  | { readonly ok: true; readonly tenantId: string }
  | { readonly ok: false; readonly error: UserError }

/**
 * For whom a call acts: the tenant that it names, if the caller may act for it; else the only one that the caller has.
 * Callers with several get `default` in development, and in production have to say.
 */
export function chooseTenant(
  context: RequestContext,
  caller: Caller,
  named: string | null,
  path: readonly string[],
): ChosenTenant | Promise<ChosenTenant> {
  if (named !== null) return findTenant(context, caller, named, path)
  if (caller.tenantIds !== 'all' && caller.tenantIds.size === 1) {
    const [tenantId] = caller.tenantIds
    return { ok: true, tenantId: tenantId! }
  }
  return standardTenant(context, caller, path)
}

async function standardTenant(context: RequestContext, caller: Caller, path: readonly string[]): Promise<ChosenTenant> {
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

function findTenant(
  context: RequestContext,
  caller: Caller,
  named: string,
  path: readonly string[],
): ChosenTenant | Promise<ChosenTenant> {
  const { tenantKeys } = context.deps
  const known = tenantKeys.known(named)
  if (known !== undefined) return judgeTenant(caller, named, path, known)
  return tenantKeys.find(named).then((found) => judgeTenant(caller, named, path, found))
}

function judgeTenant(caller: Caller, named: string, path: readonly string[], tenant: TenantName | null): ChosenTenant {
  if (tenant !== null && mayActFor(caller, tenant.id)) return { ok: true, tenantId: tenant.id }
  return {
    ok: false,
    error: { type: 'NotFoundError', code: 'NOT_FOUND', message: 'No such tenant among yours.', path, id: named },
  }
}
