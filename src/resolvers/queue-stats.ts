import type { QueueReading } from '../events/queue-numbers.ts'
import type { RegisteredKind } from '../sql/read-kinds.ts'
import { readTenants, type TenantRow } from '../sql/read-tenants.ts'
import { authorize, type RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'
import { sliceQueue, type QueueSlice } from './slice-queue.ts'
import { narrowStats, type StatsDimension, type StatsFilterInput, type StatsScope } from './stats-filter.ts'

interface QueueStatsInput {
  readonly filter?: StatsFilterInput | null | undefined
  readonly groupBy: readonly StatsDimension[]
}

/** Numbers of one slice of the queue, and what it is a slice of; null: not broken down by that. */
export interface QueueStats extends Omit<QueueSlice, 'kind' | 'tenantId'> {
  readonly kind: RegisteredKind | null
  readonly tenant: TenantRow | null
}

/** One measurement of the queue. */
export interface QueueStatsTick {
  readonly at: Date
  readonly total: QueueStats
  readonly rows: readonly QueueStats[]
}

/** The queue's present numbers, at most a second old. */
export async function queueStats(
  { filter, groupBy }: QueueStatsInput,
  context: RequestContext,
): Promise<QueueStatsTick> {
  const caller = authorize(context, [['READ_JOBS']])
  const scope = await narrowStats(filter, groupBy, caller, context)
  return tickOf(await context.deps.queueNumbers.read(), scope, context)
}

/** Present numbers of one kind, over all tenants of the caller. */
export async function statsOfKind(kind: RegisteredKind, context: RequestContext): Promise<QueueStats> {
  const { total } = await queueStats({ filter: { kind: [kind.name] }, groupBy: [] }, context)
  return { ...total, kind }
}

/** Present numbers of one tenant. */
export async function statsOfTenant(tenant: TenantRow, context: RequestContext): Promise<QueueStats> {
  const { total } = await queueStats({ filter: { tenantId: [tenant.id] }, groupBy: [] }, context)
  return { ...total, tenant }
}

/** What a reading says of these jobs; made once for all who ask for the same, names and all. */
export function tickOf(reading: QueueReading, scope: StatsScope, context: RequestContext): Promise<QueueStatsTick> {
  return reading.share(JSON.stringify(scope), async () => {
    const { kinds, pools } = context.deps
    const { total, rows } = sliceQueue(reading, scope, [...kinds.keys()])
    const ids = rows.flatMap(({ tenantId }) => tenantId ?? [])
    const tenants = ids.length === 0 ? [] : await readTenants(pools.api, ids, ids)
    const byId = new Map(tenants.map((tenant) => [tenant.id, tenant]))
    const shown = ({ kind, tenantId, ...numbers }: QueueSlice) => ({
      ...numbers,
      kind,
      tenant: byId.get(tenantId ?? '') ?? null,
    })
    return {
      at: reading.at,
      total: { ...shown(total), kind: null },
      rows: await Promise.all(
        rows.map(async (row) => ({
          ...shown(row),
          kind: row.kind === null ? null : await kindView(row.kind, context),
        })),
      ),
    }
  })
}
