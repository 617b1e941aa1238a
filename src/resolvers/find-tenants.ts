import { mayActFor } from '../jobs/permissions.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import { authorize, type RequestContext } from './context.ts'

/** The tenants of these keys or ids, as far as they are the caller's. */
export async function findTenants(idsOrKeys: readonly string[], context: RequestContext): Promise<TenantRow[]> {
  const caller = authorize(context, [])
  const names = await Promise.all(idsOrKeys.map((each) => context.deps.tenantKeys.find(each)))
  const own = names.filter((name) => name !== null && mayActFor(caller, name.id))
  const rows = await Promise.all(own.map((name) => context.loaders.tenants.load(name!.id)))
  return rows.filter((row) => row !== null)
}
