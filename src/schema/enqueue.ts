import { enqueueJob } from '../resolvers/enqueue-job.ts'
import { enqueueJobs, type EnqueueJobsResult } from '../resolvers/enqueue-jobs.ts'
import type { EnqueueResult } from '../resolvers/enqueue-result.ts'
import { builder } from './builder.ts'
import { BulkImportInputRef } from './bulk-import-input.ts'
import { EmailSendInputRef } from './email-send-input.ts'
import { GinBackfillInputRef, IndexSyncInputRef, ReindexInputRef } from './entity-job-inputs.ts'
import { JobRef } from './job-ref.ts'
import { ScheduleInputRef } from './schedule-input.ts'
import { errorsOf } from './user-error.ts'

const CustomJobInputRef = builder.inputType('CustomJobInput', {
  description: "A job of any kind. The payload is checked against the kind's JSON Schema on the server.",
  fields: (t) => ({
    kind: t.string({ required: true, description: 'Name of the kind.' }),
    payload: t.field({ type: 'JSON', required: true, description: 'Its payload.' }),
  }),
})

const VirusScanInputRef = builder.inputType('VirusScanInput', {
  description: 'An upload to scan.',
  fields: (t) => ({ attachmentId: t.id({ required: true, description: 'The attachment.' }) }),
})

const DocumentProcessInputRef = builder.inputType('DocumentProcessInput', {
  description: 'A document to read.',
  fields: (t) => ({
    documentId: t.id({ required: true, description: 'The document.' }),
    deriveTitle: t.boolean({ required: true, defaultValue: true, description: 'Whether to derive a title.' }),
  }),
})

const JobInputRef = builder.inputType('JobInput', {
  description: 'What to do: exactly one kind. One field per registered kind, made from its payload schema.',
  isOneOf: true,
  fields: (t) => ({
    emailSend: t.field({ type: EmailSendInputRef, description: 'Kind `email_send`.' }),
    bulkImport: t.field({ type: BulkImportInputRef, description: 'Kind `bulk_import`.' }),
    virusScan: t.field({ type: VirusScanInputRef, description: 'Kind `virus_scan`.' }),
    reindex: t.field({ type: ReindexInputRef, description: 'Kind `reindex`.' }),
    indexSync: t.field({ type: IndexSyncInputRef, description: 'Kind `index_sync`.' }),
    ginBackfill: t.field({ type: GinBackfillInputRef, description: 'Kind `gin_backfill`.' }),
    documentProcess: t.field({ type: DocumentProcessInputRef, description: 'Kind `document_process`.' }),
    custom: t.field({ type: CustomJobInputRef, description: 'Any kind, with a JSON payload.' }),
  }),
})

const IdempotencyConflictRef = builder.enumType('IdempotencyConflict', {
  description: 'What to do if the idempotency key exists.',
  values: {
    IGNORE: { description: 'Leave the old job as it is and return it.' },
    UPDATE: {
      description: 'If the old job is still PENDING, give it the new payload, time and priority; else return it.',
    },
  } as const,
})

const EnqueueJobInputRef = builder.inputType('EnqueueJobInput', {
  description: 'A job to enqueue.',
  fields: (t) => ({
    job: t.field({ type: JobInputRef, required: true, description: 'Kind and payload.' }),
    tenantId: t.id({ description: 'For whom. May be left out by callers with exactly one tenant.' }),
    idempotencyKey: t.string({ description: 'Same key, tenant and kind: one job.' }),
    onConflict: t.field({
      type: IdempotencyConflictRef,
      required: true,
      defaultValue: 'IGNORE',
      description: 'What to do if the key exists.',
    }),
    schedule: t.field({ type: ScheduleInputRef, description: 'When. Default: now.' }),
    priority: t.int({ description: "Lower runs first. Default: the kind's." }),
    maxAttempts: t.int({ description: "Default: the kind's." }),
    tags: t.stringList({ description: 'Free labels.' }),
    correlationId: t.string({ description: 'Ties the job to the causing request.' }),
  }),
})

const EnqueueJobsInputRef = builder.inputType('EnqueueJobsInput', {
  description: 'Jobs to enqueue together.',
  fields: (t) => ({
    jobs: t.field({ type: [EnqueueJobInputRef], required: true, description: '1 to 1000 jobs.' }),
    atomic: t.boolean({ required: true, defaultValue: true, description: 'All or none.' }),
  }),
})

const EnqueueOutcomeRef = builder.enumType('EnqueueOutcome', {
  description: 'What enqueueing did.',
  values: {
    CREATED: { description: 'A new job.' },
    DUPLICATE: { description: 'The key existed: the old job, unchanged.' },
    UPDATED: { description: 'The key existed: the old job, changed.' },
  } as const,
})

const EnqueueJobPayloadRef = builder.objectRef<EnqueueResult>('EnqueueJobPayload').implement({
  description: 'Result of enqueueing.',
  fields: (t) => ({
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'The job, new or old.',
      resolve: ({ job }) => (typeof job === 'function' ? job() : job),
    }),
    outcome: t.expose('outcome', { type: EnqueueOutcomeRef, nullable: true, description: 'What was done.' }),
    errors: errorsOf(t),
  }),
})

const EnqueueJobsPayloadRef = builder.objectRef<EnqueueJobsResult>('EnqueueJobsPayload').implement({
  description: 'Result of enqueueing many: `results[i]` belongs to `jobs[i]`.',
  fields: (t) => ({
    results: t.field({
      type: [EnqueueJobPayloadRef],
      description: 'One per input, in order. With `atomic` and any error, no job was created.',
      resolve: ({ results }) => [...results],
    }),
    created: t.exposeInt('created', { description: 'How many new jobs.' }),
    errors: errorsOf(t, 'What stood in the way of the whole.'),
  }),
})

builder.mutationField('enqueueJob', (t) =>
  t.field({
    type: EnqueueJobPayloadRef,
    description: 'Enqueue one job.',
    directives: [
      { name: 'cost', args: { weight: '1' } },
      { name: 'requiresScopes', args: { scopes: [['ENQUEUE_JOBS']] } },
    ],
    args: { input: t.arg({ type: EnqueueJobInputRef, required: true }) },
    resolve: (_, { input }, context) => enqueueJob(input, context),
  }),
)

builder.mutationField('enqueueJobs', (t) =>
  t.field({
    type: EnqueueJobsPayloadRef,
    description: 'Enqueue up to 1000 jobs in one transaction.',
    directives: [
      { name: 'cost', args: { weight: '1' } },
      { name: 'requiresScopes', args: { scopes: [['ENQUEUE_JOBS']] } },
    ],
    // For the cost: an answer for each job.
    extensions: { itemsOf: { argument: 'input', path: ['jobs'], field: 'results' } },
    args: { input: t.arg({ type: EnqueueJobsInputRef, required: true }) },
    resolve: (_, { input }, context) => enqueueJobs(input, context),
  }),
)
