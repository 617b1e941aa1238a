import { actorOf } from '../jobs/permissions.ts'
import { setRateLimit as set } from '../sql/set-rate-limit.ts'
import { findOwnTenant, unknownKind } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { rateLimitOf, type TenantRateLimit } from './list-rate-limits.ts'
import { invalid, type UserError } from './user-error.ts'

interface SetRateLimitInput {
  readonly tenantId: string
  readonly kind: string
  /** Null or missing: back to the kind's default. */
  readonly limit?: { readonly rps: number; readonly burst: number } | null | undefined
}

export interface SetRateLimitResult {
  readonly rateLimit: TenantRateLimit | null
  readonly errors: readonly UserError[]
}

const mostRps = 10_000

/** Sets or resets a tenant's token bucket for a kind: in force within a second, without a restart. */
export async function setRateLimit(
  { tenantId, kind, limit = null }: SetRateLimitInput,
  context: RequestContext,
): Promise<SetRateLimitResult> {
  const caller = authorize(context, [['MANAGE_METADATA', 'OPERATE_PLATFORM']])
  const tenant = await findOwnTenant(tenantId, context, caller, ['tenantId'])
  const missing = await unknownKind(kind, context, ['kind'])
  const errors = [
    ...(tenant.ok ? [] : [tenant.error]),
    ...(missing === null ? [] : [missing]),
    ...(limit === null ? [] : outsideLimit(limit)),
  ]
  if (!tenant.ok || errors.length > 0) return { rateLimit: null, errors }
  const { pools, wakeup } = context.deps
  const stored = limit === null ? null : JSON.stringify({ rps: limit.rps, burst: limit.burst })
  const [row] = await set(pools.api, tenant.id, kind, stored, actorOf(caller.principal), context.requestId)
  wakeup.signal('control')
  wakeup.signal('journal')
  return { rateLimit: await rateLimitOf(row!, kind, context), errors: [] }
}

function outsideLimit({ rps, burst }: { readonly rps: number; readonly burst: number }): UserError[] {
  return [
    ...(rps > 0 && rps <= mostRps ? [] : [invalid(['limit', 'rps'], 'rps must be above 0 and at most 10,000.')]),
    ...(burst >= 1 ? [] : [invalid(['limit', 'burst'], 'burst must be a whole number from 1.')]),
  ]
}
