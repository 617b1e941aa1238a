import { actorOf } from '../jobs/permissions.ts'
import { outsideRange, ranges } from '../jobs/ranges.ts'
import { setTenantWeight as set } from '../sql/set-tenant-weight.ts'
import { findOwnTenant } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import type { TenantResult } from './create-tenant.ts'
import { invalid } from './user-error.ts'

interface SetTenantWeightInput {
  readonly tenantId: string
  readonly weight: number
}

/** Sets a tenant's share of the workers: with weight 3 it gets three jobs where others get one. */
export async function setTenantWeight(
  { tenantId, weight }: SetTenantWeightInput,
  context: RequestContext,
): Promise<TenantResult> {
  const caller = authorize(context, [['MANAGE_METADATA', 'OPERATE_PLATFORM']])
  const tenant = await findOwnTenant(tenantId, context, caller, ['tenantId'])
  const outside = outsideRange('weight', weight, ranges.tenantWeight)
  const errors = [...(tenant.ok ? [] : [tenant.error]), ...(outside === null ? [] : [invalid(['weight'], outside)])]
  if (!tenant.ok || errors.length > 0) return { tenant: null, errors }
  const { pools, wakeup } = context.deps
  const [row] = await set(pools.api, tenant.id, weight, actorOf(caller.principal), context.requestId)
  wakeup.signal('control')
  wakeup.signal('journal')
  return { tenant: row!, errors: [] }
}
