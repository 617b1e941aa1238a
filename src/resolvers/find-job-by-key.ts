import { findJobByKey as read } from '../sql/find-job-by-key.ts'
import type { JobRow } from '../sql/job-row.ts'
import { ApiError } from './api-error.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'

interface JobKeyInput {
  readonly kind: string
  readonly key: string
  readonly tenantId?: string | null | undefined
}

/** The job that was enqueued with an idempotency key; null: none among the caller's tenants. */
export async function findJobByKey(
  { kind, key, tenantId }: JobKeyInput,
  context: RequestContext,
): Promise<JobRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  const tenant = await chooseTenant(context, caller, tenantId ?? null, ['tenantId'])
  if (!tenant.ok) {
    if (tenant.error.type === 'NotFoundError') return null
    throw new ApiError('BAD_USER_INPUT', tenant.error.message, { reason: 'INVALID' })
  }
  if (`${kind}${key}`.includes('\0')) return null
  const [job] = await read(context.deps.pools.api, tenant.tenantId, kind, key)
  return job ?? null
}
