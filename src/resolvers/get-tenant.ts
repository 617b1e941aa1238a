import { mayActFor } from '../jobs/permissions.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import { authorize, type RequestContext } from './context.ts'

/** One tenant by node id, key or uuid; null: none of the caller's. */
export async function getTenant(id: string, context: RequestContext): Promise<TenantRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  const name = await context.deps.tenantKeys.find(id)
  return name !== null && mayActFor(caller, name.id) ? context.loaders.tenants.load(name.id) : null
}
