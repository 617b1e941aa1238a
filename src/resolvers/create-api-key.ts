import { badText } from '../jobs/payload.ts'
import { actorOf, type Caller, type Scope } from '../jobs/permissions.ts'
import { outsideLength, ranges } from '../jobs/ranges.ts'
import type { ApiKeyRow } from '../sql/api-key-row.ts'
import { ApiError } from './api-error.ts'
import { findOwnTenant } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { mintApiKey } from './mint-api-key.ts'
import { invalid, type UserError } from './user-error.ts'

interface CreateApiKeyInput {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Null: every tenant. */
  readonly tenantIds?: readonly string[] | null | undefined
  readonly expiresAt?: Date | null | undefined
}

export interface ApiKeyResult {
  readonly apiKey: ApiKeyRow | null
  /** The only time that it can be read. */
  readonly secret: string | null
  readonly errors: readonly UserError[]
}

/** Makes a key that may do no more than its maker, and for no other tenants. Throws FORBIDDEN where more is asked for. */
export async function createApiKey(input: CreateApiKeyInput, context: RequestContext): Promise<ApiKeyResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const { tenantIds = null, expiresAt = null } = input
  const scopes = [...new Set(input.scopes)]
  refuseMore(caller, scopes, tenantIds)
  const name = input.name.trim()
  const tenants = await Promise.all(
    (tenantIds ?? []).map((each) => findOwnTenant(each, context, caller, ['tenantIds'])),
  )
  const errors = [
    ...wrongName(name),
    ...(scopes.length === 0
      ? [invalid(['scopes'], 'Name at least one scope: without any a key is good for nothing.')]
      : []),
    ...(tenantIds?.length === 0 ? [invalid(['tenantIds'], 'Name at least one tenant.')] : []),
    ...(expiresAt !== null && expiresAt.getTime() <= Date.now()
      ? [invalid(['expiresAt'], 'The end of a key lies in the future.')]
      : []),
    ...tenants.flatMap((tenant) => (tenant.ok ? [] : [tenant.error])),
  ]
  if (errors.length > 0) return { apiKey: null, secret: null, errors }
  const { pools, wakeup } = context.deps
  const { key, ...apiKey } = await mintApiKey(pools.api, {
    name,
    scopes,
    tenantIds: tenantIds === null ? null : [...new Set(tenants.flatMap((tenant) => (tenant.ok ? [tenant.id] : [])))],
    expiresAt,
    createdBy: actorOf(caller.principal),
    requestId: context.requestId,
  })
  wakeup.signal('journal')
  return { apiKey, secret: key, errors: [] }
}

function refuseMore(caller: Caller, scopes: readonly Scope[], tenantIds: readonly string[] | null): void {
  const more = scopes.filter((scope) => !caller.scopes.has(scope))
  if (more.length > 0) {
    throw new ApiError('FORBIDDEN', `A key may do no more than its maker, and you do not hold ${more.join(', ')}.`)
  }
  if (tenantIds === null && (caller.tenantIds !== 'all' || !caller.scopes.has('OPERATE_PLATFORM'))) {
    throw new ApiError(
      'FORBIDDEN',
      'A key without `tenantIds` is for every tenant: that needs the scope OPERATE_PLATFORM and a token for all tenants. Name tenants.',
    )
  }
}

function wrongName(name: string): UserError[] {
  const unstorable = badText(name)
  const message = outsideLength('name', name, ranges.apiKeyName) ?? (unstorable === null ? null : `name ${unstorable}`)
  return message === null ? [] : [invalid(['name'], message)]
}
