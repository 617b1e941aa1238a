import type { Caller } from '../jobs/permissions.ts'

/** The tenants that a caller may see, under a name that is the same for all who see the same. */
interface ViewScope {
  readonly name: string
  readonly sees: (tenantId: string) => boolean
}

const everything: ViewScope = { name: 'all', sees: () => true }
const known = new WeakMap<ReadonlySet<string>, ViewScope>()

/** What the caller sees now; a later token may bring another set of tenants. */
export function viewScope({ tenantIds }: Pick<Caller, 'tenantIds'>): ViewScope {
  if (tenantIds === 'all') return everything
  let scope = known.get(tenantIds)
  if (scope === undefined) {
    scope = { name: [...tenantIds].toSorted().join(' '), sees: (tenantId) => tenantIds.has(tenantId) }
    known.set(tenantIds, scope)
  }
  return scope
}
