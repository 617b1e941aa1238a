import { alongIndexes } from '../db/along-indexes.ts'
import { percentileOf } from '../jobs/time-histogram.ts'
import { readStatSamples, type StatSamples } from '../sql/read-stat-samples.ts'
import { readStatSeries, type StatStep } from '../sql/read-stat-series.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { planChart, type Chart } from './plan-chart.ts'
import { sliceQueue, type QueueSlice } from './slice-queue.ts'
import { narrowStats, type StatsDimension, type StatsFilterInput, type StatsScope } from './stats-filter.ts'

export type JobMetric =
  | 'ENQUEUED'
  | 'DONE'
  | 'ERRORS'
  | 'DEAD_LETTERED'
  | 'PENDING'
  | 'RUNNING'
  | 'WAIT_P95'
  | 'RUN_P95'

interface JobMetricsInput {
  readonly metrics: readonly JobMetric[]
  readonly range?: { readonly from?: Date | null | undefined; readonly to?: Date | null | undefined } | null | undefined
  /** In milliseconds. */
  readonly step?: number | null | undefined
  readonly filter?: StatsFilterInput | null | undefined
  readonly groupBy: readonly StatsDimension[]
}

/** A line in a chart. */
export interface MetricSeries {
  readonly metric: JobMetric
  readonly kind: string | null
  readonly tenantId: string | null
  readonly points: readonly { readonly at: Date; readonly value: number | null }[]
}

/** More lines than this are no chart: those of the groups in which most happened are drawn. */
const mostGroups = 100

/** Numbers over time, from the rollups. Throws BAD_USER_INPUT where span and step make no chart. */
export async function jobMetrics(input: JobMetricsInput, context: RequestContext): Promise<MetricSeries[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, queueNumbers } = context.deps
  const scope = await narrowStats(input.filter, input.groupBy, caller, context)
  const reading = await queueNumbers.read()
  const chart = planChart(input.range ?? {}, input.step ?? null, reading.at)
  if (typeof chart === 'string') throw new ApiError('BAD_USER_INPUT', chart, { reason: 'INVALID' })

  const { from, to, stepMs } = chart
  const seconds = stepMs / 1_000
  const { rows, samples } = await boundedRead(pools.api, async (db) => {
    await alongIndexes(db)
    return {
      rows: await readStatSeries(db, scope.tenantIds, scope.kinds, from, to, seconds, scope.byKind, scope.byTenant),
      samples: await readStatSamples(db, from, to, seconds),
    }
  })
  const now = new Map(sliceQueue(reading, scope, []).rows.map((slice) => [keyOf(slice), slice]))
  const groups = groupsOf(rows, scope)
  const known = knowledgeOf(chart, reading.at, rows, samples)
  return [...new Set(input.metrics)].flatMap((metric) =>
    groups.map(({ kind, tenantId, steps }) => ({
      metric,
      kind,
      tenantId,
      points: Array.from({ length: chart.points }, (_, step) => ({
        at: new Date(from.getTime() + step * stepMs),
        value: valueOf(metric, step, steps.get(step), now.get(keyOf({ kind, tenantId })), known),
      })),
    })),
  )
}

interface Group {
  readonly kind: string | null
  readonly tenantId: string | null
  readonly steps: Map<number, StatStep>
}

/** What is known of the steps, whatever the group. */
interface Knowledge {
  /** Before it there are no statistics. */
  readonly firstStep: number
  /** The one that is under way; -1: none of the chart. */
  readonly presentStep: number
  readonly lastStep: number
  /** How often pending and running were counted, by step. */
  readonly samples: ReadonlyMap<number, number>
}

function groupsOf(rows: readonly StatStep[], { kinds, byKind, byTenant }: StatsScope): Group[] {
  const groups = new Map<string, Group>()
  const groupOf = (kind: string | null, tenantId: string | null): Group => {
    const key = keyOf({ kind, tenantId })
    let group = groups.get(key)
    if (group === undefined) groups.set(key, (group = { kind, tenantId, steps: new Map() }))
    return group
  }
  if (!byKind && !byTenant) groupOf(null, null)
  if (byKind && !byTenant) for (const kind of kinds ?? []) groupOf(kind, null)
  for (const row of rows) groupOf(row.kind, row.tenantId).steps.set(row.step, row)
  const busiest = [...groups.values()].toSorted((a, b) => happened(b) - happened(a)).slice(0, mostGroups)
  return busiest.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)))
}

function happened({ steps }: Group): number {
  return steps
    .values()
    .reduce((sum, { enqueued, done, errors, pending }) => sum + enqueued + done + errors + pending, 0)
}

function knowledgeOf(
  { from, stepMs, points }: Chart,
  now: Date,
  rows: readonly StatStep[],
  samples: readonly StatSamples[],
): Knowledge {
  const stepAt = (time: Date): number => Math.floor((time.getTime() - from.getTime()) / stepMs)
  const since = samples.find((row) => row.since !== null)?.since
  const seen = rows.reduce((least, { step }) => Math.min(least, step), Infinity)
  const present = stepAt(now)
  return {
    firstStep: since == null ? seen : Math.min(stepAt(since), seen),
    presentStep: present < points ? present : -1,
    lastStep: present,
    samples: new Map(samples.map((row) => [row.step, row.samples])),
  }
}

function valueOf(
  metric: JobMetric,
  step: number,
  row: StatStep | undefined,
  now: QueueSlice | undefined,
  { firstStep, presentStep, lastStep, samples }: Knowledge,
): number | null {
  const counted = (count: number | undefined): number | null =>
    step < firstStep || step > lastStep ? null : (count ?? 0)
  const level = (sum: number | undefined, present: number | undefined): number | null => {
    if (step === presentStep) return present ?? 0
    const times = samples.get(step) ?? 0
    return times === 0 ? null : (sum ?? 0) / times
  }
  switch (metric) {
    case 'ENQUEUED':
      return counted(row?.enqueued)
    case 'DONE':
      return counted(row?.done)
    case 'ERRORS':
      return counted(row?.errors)
    case 'DEAD_LETTERED':
      return counted(row?.dead)
    case 'PENDING':
      return level(row?.pending, now?.pending)
    case 'RUNNING':
      return level(row?.running, now?.running)
    case 'WAIT_P95':
      return row?.waitHist == null ? null : percentileOf(row.waitHist, 0.95)
    case 'RUN_P95':
      return row?.runHist == null ? null : percentileOf(row.runHist, 0.95)
  }
}

const keyOf = ({ kind, tenantId }: { readonly kind: string | null; readonly tenantId: string | null }): string =>
  `${kind} ${tenantId}`
