import type { QueueReading } from '../events/queue-numbers.ts'
import { addHistograms, percentilesOf, type Percentiles, type TimeHistogram } from '../jobs/time-histogram.ts'
import type { StatsScope } from './stats-filter.ts'

/** Numbers of one slice of the queue. */
export interface QueueSlice {
  /** Null: not broken down by kind. */
  readonly kind: string | null
  /** Null: not broken down by tenant. */
  readonly tenantId: string | null
  readonly pending: number
  readonly scheduled: number
  readonly running: number
  readonly dlq: number
  readonly failed: number
  readonly oldestPendingSeconds: number | null
  readonly enqueuedPerSecond: number
  readonly donePerSecond: number
  readonly errorsPerSecond: number
  readonly throttledPerSecond: number
  readonly wait: Percentiles
  readonly run: Percentiles
}

export interface SlicedQueue {
  readonly total: QueueSlice
  readonly rows: readonly QueueSlice[]
}

/** Tenants without end are no picture: the slices with most jobs are shown. */
const mostRows = 1_000

/** Breaks a reading down. Kinds that are known or asked for, and tenants that are asked for, have a row though they have no jobs. */
export function sliceQueue(
  { counts, flow }: QueueReading,
  { kinds, tenantIds, byKind, byTenant }: StatsScope,
  knownKinds: readonly string[],
): SlicedQueue {
  const wantedKinds = kinds === null ? null : new Set(kinds)
  const wantedTenants = tenantIds === null ? null : new Set(tenantIds)
  const wants = ({ tenantId, kind }: Pair): boolean =>
    (wantedKinds?.has(kind) ?? true) && (wantedTenants?.has(tenantId) ?? true)
  const total = newTally(null, null)
  const rows = new Map<string, Tally>()
  const rowOf = (kind: string | null, tenantId: string | null): Tally => {
    const key = `${kind} ${tenantId}`
    let row = rows.get(key)
    if (row === undefined) rows.set(key, (row = newTally(kind, tenantId)))
    return row
  }
  if (byKind && !byTenant) for (const kind of kinds ?? knownKinds) rowOf(kind, null)
  if (byTenant && !byKind && (tenantIds?.length ?? Infinity) <= mostRows) for (const id of tenantIds!) rowOf(null, id)
  if (!byKind && !byTenant) rowOf(null, null)

  for (const count of counts) {
    if (!wants(count as Pair)) continue
    for (const tally of [total, rowOf(byKind ? count.kind : null, byTenant ? count.tenantId : null)]) {
      tally[count.state] += count.jobs
      if (count.oldestDueSeconds !== null) tally.oldest = Math.max(tally.oldest ?? 0, count.oldestDueSeconds)
    }
  }
  for (const part of flow) {
    if (!wants(part)) continue
    for (const tally of [total, rowOf(byKind ? part.kind : null, byTenant ? part.tenantId : null)]) {
      tally.enqueued += part.enqueued / part.seconds
      tally.done += part.done / part.seconds
      tally.errors += part.errors / part.seconds
      tally.throttled += part.throttled / part.seconds
      if (part.waitHist !== null) tally.wait = addHistograms(tally.wait, part.waitHist)
      if (part.runHist !== null) tally.run = addHistograms(tally.run, part.runHist)
    }
  }
  const shown = [...rows.values()].toSorted((a, b) => load(b) - load(a)).slice(0, mostRows)
  return { total: sliceOf(total), rows: shown.toSorted(byName).map(sliceOf) }
}

interface Pair {
  readonly tenantId: string
  readonly kind: string
}

interface Tally {
  readonly kind: string | null
  readonly tenantId: string | null
  due: number
  waiting: number
  running: number
  dlq: number
  failed: number
  oldest: number | null
  enqueued: number
  done: number
  errors: number
  throttled: number
  wait: TimeHistogram
  run: TimeHistogram
}

function newTally(kind: string | null, tenantId: string | null): Tally {
  const counts = { due: 0, waiting: 0, running: 0, dlq: 0, failed: 0, oldest: null }
  return { kind, tenantId, ...counts, enqueued: 0, done: 0, errors: 0, throttled: 0, wait: [], run: [] }
}

function sliceOf(tally: Tally): QueueSlice {
  const { kind, tenantId, running, dlq, failed } = tally
  return {
    kind,
    tenantId,
    pending: tally.due,
    scheduled: tally.waiting,
    running,
    dlq,
    failed,
    oldestPendingSeconds: tally.oldest,
    enqueuedPerSecond: tally.enqueued,
    donePerSecond: tally.done,
    errorsPerSecond: tally.errors,
    throttledPerSecond: tally.throttled,
    wait: percentilesOf(tally.wait),
    run: percentilesOf(tally.run),
  }
}

const load = ({ due, waiting, running, dlq, failed }: Tally): number => due + waiting + running + dlq + failed
const byName = (a: Tally, b: Tally): number =>
  (a.kind ?? '').localeCompare(b.kind ?? '') || (a.tenantId ?? '').localeCompare(b.tenantId ?? '')
