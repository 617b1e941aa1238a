import { jobMetrics, type MetricSeries } from '../resolvers/job-metrics.ts'
import { kindView } from '../resolvers/kind-view.ts'
import { builder } from './builder.ts'
import { DateTimeRangeInputRef } from './job-filter.ts'
import { JobKindRef } from './job-kind.ts'
import { QueueStatsFilterRef, StatsDimensionRef } from './queue-stats.ts'
import { TenantRef } from './tenant.ts'

const JobMetricRef = builder.enumType('JobMetric', {
  description: 'A measured quantity.',
  values: {
    ENQUEUED: { description: 'Jobs enqueued.' },
    DONE: { description: 'Jobs finished successfully.' },
    ERRORS: { description: 'Attempts failed.' },
    DEAD_LETTERED: { description: 'Jobs that went to the DLQ.' },
    PENDING: { description: 'Jobs due and waiting.' },
    RUNNING: { description: 'Jobs running.' },
    WAIT_P95: { description: 'Wait before claim, 95th percentile, seconds.' },
    RUN_P95: { description: 'Run time, 95th percentile, seconds.' },
  } as const,
})

const MetricPointRef = builder.objectRef<MetricSeries['points'][number]>('MetricPoint').implement({
  description: 'A point in a chart.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the step.' }),
    value: t.exposeFloat('value', { nullable: true, description: 'The value.' }),
  }),
})

const MetricSeriesRef = builder.objectRef<MetricSeries>('MetricSeries').implement({
  description: 'A line in a chart.',
  fields: (t) => ({
    metric: t.expose('metric', { type: JobMetricRef, description: 'What is measured.' }),
    kind: t.field({
      type: JobKindRef,
      nullable: true,
      description: 'The kind, if broken down by kind.',
      resolve: ({ kind }, _, context) => (kind === null ? null : kindView(kind, context)),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'The tenant, if broken down by tenant.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    points: t.field({
      type: [MetricPointRef],
      description: 'Points, oldest first, `step` apart. A null value means nothing was measured.',
      directives: [{ name: 'listSize', args: { assumedSize: 120 } }],
      resolve: ({ points }) => [...points],
    }),
  }),
})

builder.queryField('jobMetrics', (t) =>
  t.field({
    type: [MetricSeriesRef],
    description: 'Numbers over time, for charts. At most 500 points a series.',
    directives: [
      { name: 'cost', args: { weight: '20' } },
      { name: 'listSize', args: { assumedSize: 10 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: {
      metrics: t.arg({ type: [JobMetricRef], required: true, description: 'What to measure.' }),
      range: t.arg({ type: DateTimeRangeInputRef, description: 'The span. Default: the last hour.' }),
      step: t.arg({
        type: 'Duration',
        description: 'Distance of points, in whole minutes. Default: fits the span in 120 points.',
      }),
      filter: t.arg({ type: QueueStatsFilterRef, description: 'Narrow down.' }),
      groupBy: t.arg({
        type: [StatsDimensionRef],
        required: true,
        defaultValue: [],
        description: 'One line per group. The 100 groups in which most happened are drawn.',
      }),
    },
    resolve: (_, args, context) => jobMetrics(args, context),
  }),
)
