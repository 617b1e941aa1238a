import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { readConcurrencyLimits, type ConcurrencyLimitRow } from '../sql/read-concurrency-limits.ts'
import { setConcurrencyLimit as set } from '../sql/set-concurrency-limit.ts'
import { chooseQueue, type QueueSelectorInput } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface SetConcurrencyLimitInput {
  readonly queue: QueueSelectorInput
  /** Null or missing: none; of a kind: its own default, if it has one. */
  readonly max?: number | null | undefined
}

export interface SetConcurrencyLimitResult {
  readonly concurrencyLimit: ConcurrencyLimitRow | null
  readonly errors: readonly UserError[]
}

/** Caps how many jobs of a kind, a tenant or both run at once over all instances. Lowering it stops nobody; raising it wakes who waits. */
export async function setConcurrencyLimit(
  { queue, max = null }: SetConcurrencyLimitInput,
  context: RequestContext,
): Promise<SetConcurrencyLimitResult> {
  const caller = authorize(context, [['MANAGE_METADATA', 'OPERATE_PLATFORM']])
  const chosen = await chooseQueue(queue, context, caller)
  const errors = [
    ...(chosen.ok ? [] : chosen.errors),
    ...(max !== null && max < 0 ? [invalid(['max'], 'max must be a whole number from 0.')] : []),
  ]
  if (!chosen.ok || errors.length > 0) return { concurrencyLimit: null, errors }
  const { kind, tenantId } = chosen
  const { pools, wakeup } = context.deps
  await set(pools.api, kind, tenantId, max, actorOf(caller.principal), context.requestId)
  wakeup.signal('control')
  wakeup.signal('work')
  wakeup.signal('journal')
  const limits = await readConcurrencyLimits(pools.api, tenantPredicate(caller))
  const inForce = limits.find((limit) => limit.kind === kind && limit.tenantId === tenantId)
  return { concurrencyLimit: inForce ?? { kind, tenantId, max: null, running: 0 }, errors: [] }
}
