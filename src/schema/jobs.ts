import { findJobByKey } from '../resolvers/find-job-by-key.ts'
import { getJob } from '../resolvers/get-job.ts'
import { listJobs, type Count, type JobPage } from '../resolvers/list-jobs.ts'
import type { JobRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobFilterRef } from './job-filter.ts'
import { JobRef } from './job-ref.ts'
import { selects } from './selects.ts'

const CountPrecisionRef = builder.enumType('CountPrecision', {
  description: 'How exact a count is.',
  values: {
    EXACT: { description: 'The exact number.' },
    AT_LEAST: { description: 'Counting stopped at the asked limit: there are at least this many.' },
  } as const,
})

export const CountRef = builder.objectRef<Count>('Count').implement({
  description: 'A count that never scans more rows than asked for.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'The number counted.' }),
    precision: t.expose('precision', { type: CountPrecisionRef, description: 'Whether counting went to the end.' }),
  }),
})

export const JobConnectionRef = connectionOf<JobRow, JobPage>(JobRef, { one: 'job', many: 'jobs' })

builder.objectFields(JobConnectionRef, (t) => ({
  totalCount: t.field({
    type: CountRef,
    description: 'How many match, counted up to `atMost`.',
    directives: [{ name: 'cost', args: { weight: '10' } }],
    args: { atMost: t.arg.int({ required: true, defaultValue: 10_000 }) },
    resolve: (page, { atMost }) => page.count(atMost),
  }),
  streamCursor: t.string({
    description:
      'Position of this read in the event stream: pass as `after` to the `jobs` subscription and miss nothing.',
    resolve: ({ streamCursor }) => streamCursor!,
  }),
}))

const JobOrderFieldRef = builder.enumType('JobOrderField', {
  description: 'What to sort jobs by.',
  values: {
    CREATED_AT: { description: 'When enqueued.' },
    AVAILABLE_AT: { description: 'When due: the order of claiming within a priority. With status PENDING only.' },
    COMPLETED_AT: { description: 'When finished. With the statuses DLQ and FAILED only.' },
    PRIORITY: { description: 'Priority, then due time. With status PENDING only.' },
  } as const,
})

export const OrderDirectionRef = builder.enumType('OrderDirection', {
  description: 'Which way to sort.',
  values: {
    ASC: { description: 'Smallest or oldest first.' },
    DESC: { description: 'Largest or newest first.' },
  } as const,
})

const JobOrderRef = builder.inputType('JobOrder', {
  description: 'How to sort jobs. Ties are broken by id, so paging is stable.',
  fields: (t) => ({
    field: t.field({ type: JobOrderFieldRef, required: true, description: 'Sort key.' }),
    direction: t.field({ type: OrderDirectionRef, required: true, description: 'Direction.' }),
  }),
})

builder.queryField('job', (t) =>
  t.field({
    type: JobRef,
    nullable: true,
    description: 'One job by node id or bare UUID.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, context) => getJob(id, context),
  }),
)

builder.queryField('jobByIdempotencyKey', (t) =>
  t.field({
    type: JobRef,
    nullable: true,
    description: 'The job enqueued with an idempotency key.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: { kind: t.arg.string({ required: true }), key: t.arg.string({ required: true }), tenantId: t.arg.id() },
    resolve: (_, args, context) => findJobByKey(args, context),
  }),
)

builder.queryField('jobs', (t) =>
  t.field({
    type: JobConnectionRef,
    description: 'Jobs, newest first unless ordered otherwise. `first` or `last` at most 100.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first', 'last'], assumedSize: 20 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: {
      filter: t.arg({ type: JobFilterRef, description: 'Narrow down.' }),
      orderBy: t.arg({
        type: JobOrderRef,
        required: true,
        defaultValue: { field: 'CREATED_AT', direction: 'DESC' },
        description: 'Sort.',
      }),
      first: t.arg.int({ description: 'Page size, forward.' }),
      after: t.arg.string({ description: 'Continue after this cursor.' }),
      last: t.arg.int({ description: 'Page size, backward.' }),
      before: t.arg.string({ description: 'Continue before this cursor.' }),
    },
    resolve: (_, args, context, info) => listJobs({ ...args, streamCursor: selects(info, 'streamCursor') }, context),
  }),
)
