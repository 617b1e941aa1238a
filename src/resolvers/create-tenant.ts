import { badText } from '../jobs/payload.ts'
import { actorOf } from '../jobs/permissions.ts'
import { outsideLength, ranges } from '../jobs/ranges.ts'
import { createTenant as create } from '../sql/create-tenant.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface CreateTenantInput {
  readonly key: string
  readonly name: string
}

export interface TenantResult {
  readonly tenant: TenantRow | null
  readonly errors: readonly UserError[]
}

/** Makes a tenant; it gets the kinds' default rate limits copied into its own. */
export async function createTenant({ key, name }: CreateTenantInput, context: RequestContext): Promise<TenantResult> {
  const caller = authorize(context, [['OPERATE_PLATFORM']])
  const errors = [...badKey(key), ...badName(name)]
  if (errors.length > 0) return { tenant: null, errors }
  const limits = [...context.deps.kinds.values()].flatMap((kind) =>
    kind.defaults.rateLimit === null ? [] : [[kind.name, kind.defaults.rateLimit]],
  )
  const [tenant] = await create(
    context.deps.pools.api,
    key,
    name,
    JSON.stringify(Object.fromEntries(limits)),
    actorOf(caller.principal),
    context.requestId,
  )
  if (tenant === undefined)
    return { tenant: null, errors: [invalid(['key'], 'A tenant with this key exists already. Choose another key.')] }
  context.deps.wakeup.signal('control')
  context.deps.wakeup.signal('journal')
  return { tenant, errors: [] }
}

function badKey(key: string): UserError[] {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(key)) return []
  return [
    invalid(
      ['key'],
      'A key has 1 to 63 characters: lower-case letters, digits, - and _; it begins with a letter or digit.',
      { keyword: 'pattern' },
    ),
  ]
}

function badName(name: string): UserError[] {
  const problem = badText(name)
  const message = outsideLength('name', name, ranges.tenantName) ?? (problem === null ? null : `name ${problem}`)
  return message === null ? [] : [invalid(['name'], message)]
}
