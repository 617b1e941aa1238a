import { principalOf, type Scope } from '../jobs/permissions.ts'
import { cancelBulkOperation, type BulkOperationResult } from '../resolvers/cancel-bulk-operation.ts'
import { kindView } from '../resolvers/kind-view.ts'
import { listBulkOperations } from '../resolvers/list-bulk-operations.ts'
import type { BulkPreview } from '../resolvers/preview-bulk-operation.ts'
import type { BulkOperationRow } from '../resolvers/rows.ts'
import { startBulkOperation, type BulkResult } from '../resolvers/start-bulk-operation.ts'
import { watchBulkOperation } from '../resolvers/watch-bulk-operation.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobFilterRef } from './job-filter.ts'
import { JobKindRef } from './job-kind.ts'
import { JobRef } from './job-ref.ts'
import { CountRef } from './jobs.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { selects } from './selects.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const BulkActionRef = builder.enumType('BulkAction', {
  description: 'What a bulk operation does to each job.',
  values: {
    REPLAY: { value: 'replay', description: 'Replay.' },
    DISCARD: { value: 'discard', description: 'Discard.' },
    CANCEL: { value: 'cancel', description: 'Cancel.' },
    STOP: { value: 'stop', description: 'Stop.' },
  } as const,
})

const BulkOperationStatusRef = builder.enumType('BulkOperationStatus', {
  description: 'State of a bulk operation.',
  values: {
    QUEUED: { value: 'queued', description: 'Waiting to start.' },
    RUNNING: { value: 'running', description: 'Working.' },
    COMPLETED: { value: 'completed', description: 'All done.' },
    CANCELLED: { value: 'cancelled', description: 'Ended early on request.' },
    FAULTED: {
      value: 'faulted',
      description: 'Ended early by a fault; can be started again with the same idempotency key.',
    },
  } as const,
})

const BulkOperationRef = builder.objectRef<BulkOperationRow>('BulkOperation').implement({
  description: 'An action on many jobs, done in batches. Takes only jobs that matched when it started.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `bulk_${id}` }),
    ratePerSecond: t.exposeFloat('ratePerSecond', { nullable: true, description: 'Jobs a second at most.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it ended early, for FAULTED.' }),
    action: t.expose('action', { type: BulkActionRef, description: 'What it does.' }),
    status: t.expose('status', { type: BulkOperationStatusRef, description: 'State.' }),
    matched: t.expose('matched', { type: 'SafeInt', description: 'Jobs matched when it started.' }),
    processed: t.field({
      type: 'SafeInt',
      description: 'Jobs looked at so far.',
      resolve: ({ succeeded, skipped }) => succeeded + skipped,
    }),
    succeeded: t.expose('succeeded', { type: 'SafeInt', description: 'Jobs changed.' }),
    skipped: t.expose('skipped', { type: 'SafeInt', description: 'Jobs left alone because they had moved on.' }),
    by: t.field({
      type: PrincipalRef,
      description: 'Who started it.',
      resolve: ({ createdBy }) => principalOf(createdBy),
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked for.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const BulkPreviewRowRef = builder.objectRef<BulkPreview['groups'][number]>('BulkPreviewRow').implement({
  description: 'One slice of a preview.',
  fields: (t) => ({
    kind: t.field({
      type: JobKindRef,
      description: 'The kind.',
      resolve: ({ kind }, _, context) => kindView(kind, context),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'The tenant.',
      resolve: ({ tenantId }, _, { loaders }) => loaders.tenants.load(tenantId),
    }),
    count: t.expose('count', { type: 'SafeInt', description: 'How many.' }),
  }),
})

const BulkPreviewRef = builder.objectRef<BulkPreview>('BulkPreview').implement({
  description: 'What a bulk operation would do.',
  fields: (t) => ({
    matched: t.expose('matched', { type: CountRef, description: 'How many jobs match.' }),
    rows: t.field({
      type: [BulkPreviewRowRef],
      description: 'Broken down by kind and tenant, largest first.',
      resolve: ({ groups }) => [...groups],
    }),
    sample: t.field({
      type: [JobRef],
      description: 'Some of them.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: { first: t.arg.int({ required: true, defaultValue: 10 }) },
      resolve: ({ sample }, { first }) => sample(first),
    }),
  }),
})

const BulkJobsPayloadRef = builder.objectRef<BulkResult>('BulkJobsPayload').implement({
  description: 'Result of a bulk action.',
  fields: (t) => ({
    operation: t.expose('operation', {
      type: BulkOperationRef,
      nullable: true,
      description: 'The running operation. Null on a dry run.',
    }),
    preview: t.expose('preview', {
      type: BulkPreviewRef,
      nullable: true,
      description: 'What it does or would do.',
    }),
    errors: errorsOf(t),
  }),
})

const BulkOperationPayloadRef = builder.objectRef<BulkOperationResult>('BulkOperationPayload').implement({
  description: 'Result of ending a bulk operation.',
  fields: (t) => ({
    operation: t.expose('operation', {
      type: BulkOperationRef,
      nullable: true,
      description: 'The operation as it is now.',
    }),
    errors: errorsOf(t),
  }),
})

const JobSelectionInputRef = builder.inputType('JobSelectionInput', {
  description: 'Which jobs: exactly one of the three.',
  isOneOf: true,
  fields: (t) => ({
    ids: t.idList({ description: 'These. At most 1000.' }),
    filter: t.field({ type: JobFilterRef, description: 'All that match.' }),
    deadLetterGroup: t.id({ description: 'One group of `deadLetterGroups`.' }),
  }),
})

const BulkJobsInputRef = builder.inputType('BulkJobsInput', {
  description: 'An action on many jobs.',
  fields: (t) => ({
    select: t.field({ type: JobSelectionInputRef, required: true, description: 'Which.' }),
    dryRun: t.boolean({
      required: true,
      description: 'True: only look. False: do it. There is no default on purpose.',
    }),
    expectedCount: t.int({
      description: 'Refuse if a different number matches. Required by `discardJobs` when not a dry run.',
    }),
    limit: t.int({ required: true, defaultValue: 10_000, description: 'At most this many, oldest first.' }),
    ratePerSecond: t.float({ description: 'Spread: at most this many per second.' }),
    idempotencyKey: t.string({ description: 'Repeating the call with the same key returns the same operation.' }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

const CancelBulkOperationInputRef = builder.inputType('CancelBulkOperationInput', {
  description: 'A bulk operation to end early.',
  fields: (t) => ({ id: t.id({ required: true, description: 'The operation.' }) }),
})

const directives = (scope: Scope, weight: string) => [
  { name: 'cost' as const, args: { weight } },
  { name: 'requiresScopes' as const, args: { scopes: [[scope]] } },
]

builder.mutationFields((t) => {
  const bulk = (action: BulkOperationRow['action'], scope: Scope, description: string) =>
    t.field({
      type: BulkJobsPayloadRef,
      description,
      directives: directives(scope, '50'),
      args: { input: t.arg({ type: BulkJobsInputRef, required: true }) },
      resolve: (_, { input }, context, info) =>
        startBulkOperation(action, input, context, { previewed: selects(info, 'preview') }),
    })
  return {
    replayJobs: bulk('replay', 'MANAGE_METADATA', 'Replay many.'),
    discardJobs: bulk('discard', 'MANAGE_METADATA', 'Discard many. Needs `expectedCount`.'),
    cancelJobs: bulk('cancel', 'CONTROL_JOBS', 'Cancel many.'),
    stopJobs: bulk('stop', 'MANAGE_METADATA', 'Stop many.'),
    cancelBulkOperation: t.field({
      type: BulkOperationPayloadRef,
      description: 'End a bulk operation early. What is done stays done.',
      directives: directives('MANAGE_METADATA', '10'),
      args: { input: t.arg({ type: CancelBulkOperationInputRef, required: true }) },
      resolve: (_, { input }, context) => cancelBulkOperation(input, context),
    }),
  }
})

const BulkOperationConnectionRef = connectionOf(BulkOperationRef, {
  one: 'operation',
  many: 'operations',
  sort: 'bulk ',
})

builder.queryField('bulkOperations', (t) =>
  t.field({
    type: BulkOperationConnectionRef,
    description: 'Bulk operations, newest first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
    resolve: (_, args, context) => listBulkOperations(args, context),
  }),
)

builder.subscriptionField('bulkOperation', (t) =>
  t.field({
    type: BulkOperationRef,
    description: 'A bulk operation: its present state at once, then its progress. Ends when it ends.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } }],
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_, { id }, context) => watchBulkOperation(id, context),
    resolve: (operation: BulkOperationRow) => operation,
  }),
)
