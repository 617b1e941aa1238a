import { mayActFor, type Caller } from '../jobs/permissions.ts'
import { ApiError } from './api-error.ts'
import type { RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

/** The input `QueueSelectorInput`. */
export interface QueueSelectorInput {
  readonly kind?: string | null | undefined
  readonly tenantId?: string | null | undefined
}

export type ChosenQueue =
  | { readonly ok: true; readonly kind: string | null; readonly tenantId: string | null }
  | { readonly ok: false; readonly errors: readonly UserError[] }

/** The part of the queue that is meant: a kind, a tenant of the caller's, or where both meet. Without a tenant it concerns all: that needs OPERATE_PLATFORM. */
export async function chooseQueue(
  { kind, tenantId }: QueueSelectorInput,
  context: RequestContext,
  caller: Caller,
): Promise<ChosenQueue> {
  if (kind == null && tenantId == null)
    return { ok: false, errors: [invalid(['queue'], 'Name a kind, a tenant or both.')] }
  if (tenantId == null && !caller.scopes.has('OPERATE_PLATFORM')) {
    throw new ApiError(
      'FORBIDDEN',
      'Without `tenantId` this concerns every tenant: it needs the scope OPERATE_PLATFORM. Ask an administrator for it, or name a tenant.',
    )
  }
  const tenant = tenantId == null ? null : await findOwnTenant(tenantId, context, caller, ['queue', 'tenantId'])
  const missing = kind == null ? null : await unknownKind(kind, context, ['queue', 'kind'])
  const errors = [...(tenant?.ok === false ? [tenant.error] : []), ...(missing === null ? [] : [missing])]
  if (errors.length > 0) return { ok: false, errors }
  return { ok: true, kind: kind ?? null, tenantId: tenant?.ok === true ? tenant.id : null }
}

/** A tenant that a mutation names. */
export async function findOwnTenant(
  named: string,
  { deps }: RequestContext,
  caller: Caller,
  path: readonly string[],
): Promise<{ readonly ok: true; readonly id: string } | { readonly ok: false; readonly error: UserError }> {
  const tenant = await deps.tenantKeys.find(named)
  if (tenant !== null && mayActFor(caller, tenant.id)) return { ok: true, id: tenant.id }
  return {
    ok: false,
    error: { type: 'NotFoundError', code: 'NOT_FOUND', message: 'No such tenant among yours.', path, id: named },
  }
}

/** Null: an instance knows this kind, or did. */
export async function unknownKind(
  name: string,
  { deps, loaders }: RequestContext,
  path: readonly string[],
): Promise<UserError | null> {
  if (deps.kinds.has(name)) return null
  const known = /^[a-z0-9_]{1,63}$/.test(name) && (await loaders.kinds.load(name)) !== null
  return known
    ? null
    : {
        type: 'NotFoundError',
        code: 'NOT_FOUND',
        message: 'There is no kind of this name. The query jobKinds lists all.',
        path,
        id: name,
      }
}
