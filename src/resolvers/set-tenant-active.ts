import { actorOf, type Caller } from '../jobs/permissions.ts'
import { findPendingJobs } from '../sql/find-pending-jobs.ts'
import { setTenantActive as set } from '../sql/set-tenant-active.ts'
import { stopTenantJobs } from '../sql/stop-tenant-jobs.ts'
import { findOwnTenant } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import type { TenantResult } from './create-tenant.ts'
import { badReason } from './reason.ts'
import { stopPending } from './stop-job.ts'
import { invalid } from './user-error.ts'

interface SetTenantActiveInput {
  readonly tenantId: string
  readonly active: boolean
  readonly reason?: string | null | undefined
}

const batch = 1_000
const firstId = '00000000-0000-0000-0000-000000000000'
const standardReason = 'The tenant was closed.'

/**
 * Opens or closes a tenant. Closing stops its pending jobs in batches: a call that was broken off is gone on with by the next one,
 * and by maintenance, which also finds jobs that were enqueued at the same moment. Opened again it has what it had.
 */
export async function setTenantActive(input: SetTenantActiveInput, context: RequestContext): Promise<TenantResult> {
  const caller = authorize(context, [['OPERATE_PLATFORM']])
  const { active } = input
  const reason = input.reason || null
  const tenant = await findOwnTenant(input.tenantId, context, caller, ['tenantId'])
  const errors = [...(tenant.ok ? [] : [tenant.error]), ...badReason(reason)]
  if (!tenant.ok || errors.length > 0) return { tenant: null, errors }
  const { pools, tenantKeys, wakeup } = context.deps
  const platform = await tenantKeys.find('platform')
  if (!active && tenant.id === platform?.id) {
    return {
      tenant: null,
      errors: [invalid(['tenantId'], "The tenant platform owns the service's own jobs and stays open.")],
    }
  }
  const [row] = await set(pools.api, tenant.id, active, actorOf(caller.principal), reason, context.requestId)
  wakeup.signal('control')
  wakeup.signal('rights')
  if (active) wakeup.signal('work')
  else await stopPendingJobs(tenant.id, reason ?? standardReason, context, caller)
  wakeup.signal('journal')
  return { tenant: row!, errors: [] }
}

async function stopPendingJobs(
  tenantId: string,
  reason: string,
  context: RequestContext,
  caller: Caller,
): Promise<void> {
  const { pools, followUps } = context.deps
  const followed = [...followUps.keys()]
  for (let stopped = batch; stopped > 0;) {
    const [row] = await stopTenantJobs(
      pools.api,
      tenantId,
      followed,
      batch,
      actorOf(caller.principal),
      reason,
      context.requestId,
    )
    stopped = row!.stopped
  }
  if (followed.length > 0) await stopFollowedJobs(tenantId, followed, reason, context, caller)
}

/** Kinds whose own rows follow: one by one, each in a transaction of its own. One whose rows cannot follow stays pending; the log says why. */
async function stopFollowedJobs(
  tenantId: string,
  kinds: readonly string[],
  reason: string,
  context: RequestContext,
  caller: Caller,
): Promise<void> {
  for (let after = firstId; ;) {
    const found = await findPendingJobs(context.deps.pools.api, tenantId, kinds, after, batch)
    for (const { id } of found) await stopPending({ id, reason }, context, caller)
    if (found.length < batch) return
    after = found.at(-1)!.id
  }
}
