import type { JobUpdate, JobUpdateBatch } from '../resolvers/rows.ts'
import { watchJob } from '../resolvers/watch-job.ts'
import { watchJobs } from '../resolvers/watch-jobs.ts'
import { builder } from './builder.ts'
import { JobEventRef } from './job-event.ts'
import { JobFilterRef } from './job-filter.ts'
import { JobRef } from './job-ref.ts'
import { JobStatusRef } from './job-status.ts'

const JobUpdateTypeRef = builder.enumType('JobUpdateType', {
  description: 'What a message of a job stream is.',
  values: {
    SNAPSHOT: { description: 'The state at the start of the stream.' },
    EVENT: { description: "One event. None is left out and each job's come in order of `revision`." },
    PROGRESS: { description: 'A progress report. Reports may be skipped; the latest always arrives.' },
    RESYNC: { description: 'History is gone or the client was too slow: this is the present state, go on from here.' },
  } as const,
})

const JobUpdateRef = builder.objectRef<JobUpdate>('JobUpdate').implement({
  description: 'One message of a job stream.',
  fields: (t) => ({
    type: t.expose('type', { type: JobUpdateTypeRef, description: 'What it is.' }),
    cursor: t.exposeString('cursor', { description: 'Keep the last one; pass it as `after` when you come back.' }),
    jobId: t.id({ description: "The job's id.", resolve: ({ jobId }) => `job_${jobId}` }),
    job: t.expose('job', { type: JobRef, nullable: true, description: 'The job now. Null once discarded.' }),
    event: t.expose('event', { type: JobEventRef, nullable: true, description: 'The event, for type EVENT.' }),
    matchesFilter: t.exposeBoolean('matchesFilter', {
      description: 'False: this change took the job out of the filter.',
    }),
  }),
})

const JobUpdateBatchRef = builder.objectRef<JobUpdateBatch>('JobUpdateBatch').implement({
  description: 'Changes of many jobs, gathered for up to `window`.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', {
      description:
        'Keep the last one; pass it as `after` when you come back. Sent with an empty batch at least every 15 seconds.',
    }),
    updates: t.field({
      type: [JobUpdateRef],
      description: 'The changes, in the order they were committed.',
      directives: [{ name: 'listSize', args: { assumedSize: 100 } }],
      resolve: ({ updates }) => [...updates],
    }),
    resync: t.exposeBoolean('resync', {
      description:
        'True: changes were lost to this client (cursor too old, or too slow to read). Fetch the list anew and go on from `cursor`.',
    }),
  }),
})

builder.subscriptionField('job', (t) =>
  t.field({
    type: JobUpdateRef,
    description:
      'One job: its present state at once, then every transition and its progress. Ends when a status of `completeOn` is reached.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: {
      id: t.arg.id({ required: true, description: 'The job, by node id or bare UUID.' }),
      after: t.arg.string({
        description: 'Resume after this `cursor` or `streamCursor` instead of starting with a SNAPSHOT.',
      }),
      completeOn: t.arg({
        type: [JobStatusRef],
        required: true,
        defaultValue: ['done', 'dlq', 'failed'],
        description: 'End the stream once the job is in one of these. Empty: never.',
      }),
      progressEvery: t.arg({
        type: 'Duration',
        required: true,
        defaultValue: 250,
        description: 'Least time between progress messages. Zero or more than PT1M: no progress.',
      }),
    },
    subscribe: (_, args, context) => watchJob(args, context),
    resolve: (update: JobUpdate) => update,
  }),
)

builder.subscriptionField('jobs', (t) =>
  t.field({
    type: JobUpdateBatchRef,
    description: 'Transitions of all jobs that match, before or after the transition, in batches.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: {
      filter: t.arg({
        type: JobFilterRef,
        description: 'Narrow down. `payload` and `errorText` are not allowed here.',
      }),
      after: t.arg.string({ description: 'Resume after this `cursor` or `streamCursor`. Default: from now on.' }),
      window: t.arg({
        type: 'Duration',
        required: true,
        defaultValue: 100,
        description: 'Gather changes for this long, PT0S to PT5S, at most 100 a batch.',
      }),
      conflate: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'True: of several changes of one job in a batch send only the last. For lists on a screen.',
      }),
      progress: t.arg.boolean({
        required: true,
        defaultValue: false,
        description: 'Also send progress, at most once a second for each job.',
      }),
    },
    subscribe: (_, args, context) => watchJobs(args, context),
    resolve: (batch: JobUpdateBatch) => batch,
  }),
)
