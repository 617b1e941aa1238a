import type { QueueReading } from '../events/queue-numbers.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import type { RegisteredKind } from '../sql/read-kinds.ts'
import { authorize, type RequestContext } from './context.ts'
import { sliceQueue, type QueueSlice, type SlicedQueue } from './slice-queue.ts'
import { narrowStats, type StatsDimension, type StatsFilterInput, type StatsScope } from './stats-filter.ts'

interface QueueStatsInput {
  readonly filter?: StatsFilterInput | null | undefined
  readonly groupBy: readonly StatsDimension[]
}

/** One measurement of the queue. */
export interface QueueStatsTick extends SlicedQueue {
  readonly at: Date
}

/** The queue's present numbers, at most a second old. */
export async function queueStats({ filter, groupBy }: QueueStatsInput, context: RequestContext): Promise<QueueStatsTick> {
  const caller = authorize(context, [['READ_JOBS']])
  const scope = await narrowStats(filter, groupBy, caller, context)
  return tickOf(await context.deps.queueNumbers.read(), scope, context)
}

/** Present numbers of one kind, over all tenants of the caller. */
export async function statsOfKind({ name }: RegisteredKind, context: RequestContext): Promise<QueueSlice> {
  const { total } = await queueStats({ filter: { kind: [name] }, groupBy: [] }, context)
  return { ...total, kind: name }
}

/** Present numbers of one tenant. */
export async function statsOfTenant({ id }: TenantRow, context: RequestContext): Promise<QueueSlice> {
  const { total } = await queueStats({ filter: { tenantId: [id] }, groupBy: [] }, context)
  return { ...total, tenantId: id }
}

/** What a reading says of these jobs; made once for all who ask for the same. */
export function tickOf(reading: QueueReading, scope: StatsScope, { deps }: RequestContext): QueueStatsTick {
  return reading.share(JSON.stringify(scope), () => ({
    at: reading.at,
    ...sliceQueue(reading, scope, [...deps.kinds.keys()]),
  }))
}
