import type { Percentiles } from '../jobs/time-histogram.ts'
import {
  queueStats,
  statsOfKind,
  statsOfTenant,
  type QueueStats,
  type QueueStatsTick,
} from '../resolvers/queue-stats.ts'
import { watchQueueStats } from '../resolvers/watch-queue-stats.ts'
import { builder } from './builder.ts'
import { JobKindRef } from './job-kind.ts'
import { TenantRef } from './tenant.ts'

export const StatsDimensionRef = builder.enumType('StatsDimension', {
  description: 'What to break statistics down by.',
  values: { KIND: { description: 'One row per kind.' }, TENANT: { description: 'One row per tenant.' } } as const,
})

export const QueueStatsFilterRef = builder.inputType('QueueStatsFilter', {
  description: 'Narrow down statistics.',
  fields: (t) => ({
    kind: t.stringList({ description: 'Only these kinds.' }),
    tenantId: t.idList({ description: "Only these tenants. Default: all of the caller's." }),
  }),
})

const PercentilesRef = builder.objectRef<Percentiles>('Percentiles').implement({
  description: 'How a duration is distributed, in seconds. Null: nothing was measured.',
  fields: (t) => ({
    p50: t.exposeFloat('p50', { nullable: true, description: 'Median.' }),
    p95: t.exposeFloat('p95', { nullable: true, description: '95th percentile.' }),
    p99: t.exposeFloat('p99', { nullable: true, description: '99th percentile.' }),
  }),
})

const QueueStatsRef = builder.objectRef<QueueStats>('QueueStats').implement({
  description: 'Numbers of one slice of the queue. Counts come from rollups, not from scanning jobs.',
  fields: (t) => ({
    kind: t.expose('kind', { type: JobKindRef, nullable: true, description: 'The kind, if broken down by kind.' }),
    tenant: t.expose('tenant', {
      type: TenantRef,
      nullable: true,
      description: 'The tenant, if broken down by tenant.',
    }),
    pending: t.expose('pending', { type: 'SafeInt', description: 'Due and waiting. At most 50,000 are counted.' }),
    scheduled: t.expose('scheduled', {
      type: 'SafeInt',
      description: 'Waiting for their time. At most 10,000 are counted.',
    }),
    running: t.expose('running', { type: 'SafeInt', description: 'Running.' }),
    dlq: t.expose('dlq', { type: 'SafeInt', description: 'In the DLQ. At most 10,000 dead jobs are counted.' }),
    failed: t.expose('failed', { type: 'SafeInt', description: 'Stopped or cancelled.' }),
    oldestPendingSeconds: t.exposeFloat('oldestPendingSeconds', {
      nullable: true,
      description: "Age of the oldest due job, in seconds: the queue's latency.",
    }),
    donePerSecond: t.exposeFloat('donePerSecond', { description: 'Finished per second, last minute.' }),
    errorsPerSecond: t.exposeFloat('errorsPerSecond', { description: 'Failed attempts per second, last minute.' }),
    enqueuedPerSecond: t.exposeFloat('enqueuedPerSecond', { description: 'Enqueued per second, last minute.' }),
    throttledPerSecond: t.exposeFloat('throttledPerSecond', {
      description: 'Requeues for want of a rate-limit token per second, last minute.',
    }),
    wait: t.expose('wait', { type: PercentilesRef, description: 'Wait before claim, last five minutes.' }),
    run: t.expose('run', { type: PercentilesRef, description: 'Run time of attempts, last five minutes.' }),
  }),
})

const QueueStatsTickRef = builder.objectRef<QueueStatsTick>('QueueStatsTick').implement({
  description: 'One measurement of the queue.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When measured.' }),
    total: t.expose('total', { type: QueueStatsRef, description: 'All slices the caller may see, summed.' }),
    rows: t.field({
      type: [QueueStatsRef],
      description: 'One row per slice asked for.',
      directives: [{ name: 'listSize', args: { assumedSize: 50 } }],
      resolve: ({ rows }) => [...rows],
    }),
  }),
})

builder.objectField(JobKindRef, 'stats', (t) =>
  t.field({
    type: QueueStatsRef,
    description: 'Its present numbers.',
    directives: [{ name: 'cost', args: { weight: '5' } }],
    resolve: (kind, _, context) => statsOfKind(kind, context),
  }),
)

builder.objectField(TenantRef, 'stats', (t) =>
  t.field({
    type: QueueStatsRef,
    description: 'Its present numbers.',
    directives: [{ name: 'cost', args: { weight: '5' } }],
    resolve: (tenant, _, context) => statsOfTenant(tenant, context),
  }),
)

builder.queryField('queueStats', (t) =>
  t.field({
    type: QueueStatsTickRef,
    description: 'Present numbers.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: {
      filter: t.arg({ type: QueueStatsFilterRef }),
      groupBy: t.arg({ type: [StatsDimensionRef], required: true, defaultValue: ['KIND'] }),
    },
    resolve: (_, args, context) => queueStats(args, context),
  }),
)

builder.subscriptionField('queueStats', (t) =>
  t.field({
    type: QueueStatsTickRef,
    description: "The queue's numbers: at once, then at every tick. Ticks are shared by all watchers.",
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: {
      filter: t.arg({ type: QueueStatsFilterRef, description: 'Narrow down.' }),
      groupBy: t.arg({
        type: [StatsDimensionRef],
        required: true,
        defaultValue: ['KIND'],
        description: 'One row per slice.',
      }),
      every: t.arg({
        type: 'Duration',
        required: true,
        defaultValue: 1_000,
        description: 'Time between ticks: PT1S to PT1M.',
      }),
    },
    subscribe: (_, args, context) => watchQueueStats(args, context),
    resolve: (tick: QueueStatsTick) => tick,
  }),
)
