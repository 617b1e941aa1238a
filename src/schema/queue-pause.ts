import { principalOf } from '../jobs/permissions.ts'
import { kindView } from '../resolvers/kind-view.ts'
import { listPauses } from '../resolvers/list-pauses.ts'
import { pauseQueue, type PauseResult } from '../resolvers/pause-queue.ts'
import { resumeQueue } from '../resolvers/resume-queue.ts'
import type { PauseRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { JobKindRef } from './job-kind.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { QueueSelectorInputRef } from './queue-selector.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

export const QueuePauseRef = builder.objectRef<PauseRow>('QueuePause').implement({
  description: 'A stop sign for claiming. Running jobs finish; new ones may still be enqueued.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `pause_${id}` }),
    kind: t.field({
      type: JobKindRef,
      nullable: true,
      description: 'Paused kind. Null: every kind.',
      resolve: ({ kind }, _, context) => (kind === null ? null : kindView(kind, context)),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'Paused tenant. Null: every tenant.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    since: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    until: t.expose('until', { type: 'DateTime', nullable: true, description: 'Ends by itself at this time.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why.' }),
    by: t.field({
      type: PrincipalRef,
      description: 'Who paused it.',
      resolve: ({ pausedBy }) => principalOf(pausedBy),
    }),
  }),
})

builder.objectField(JobKindRef, 'pauses', (t) =>
  t.field({
    type: [QueuePauseRef],
    description: 'Pauses in force on it.',
    resolve: async ({ name }, _, context) => (await listPauses(context)).filter(({ kind }) => kind === name),
  }),
)

builder.objectField(TenantRef, 'pauses', (t) =>
  t.field({
    type: [QueuePauseRef],
    description: 'Pauses in force on it.',
    resolve: async ({ id }, _, context) => (await listPauses(context)).filter(({ tenantId }) => tenantId === id),
  }),
)

const QueuePausePayloadRef = builder.objectRef<PauseResult>('QueuePausePayload').implement({
  description: 'Result of pausing or resuming.',
  fields: (t) => ({
    pause: t.expose('pause', { type: QueuePauseRef, nullable: true, description: 'The pause begun or ended.' }),
    errors: errorsOf(t),
  }),
})

const PauseQueueInputRef = builder.inputType('PauseQueueInput', {
  description: 'A pause to begin.',
  fields: (t) => ({
    queue: t.field({ type: QueueSelectorInputRef, required: true, description: 'Which part.' }),
    until: t.field({ type: 'DateTime', description: 'End by itself.' }),
    reason: t.string({ description: 'Why.' }),
  }),
})

const ResumeQueueInputRef = builder.inputType('ResumeQueueInput', {
  description: 'A pause to end.',
  fields: (t) => ({ queue: t.field({ type: QueueSelectorInputRef, required: true, description: 'Which part.' }) }),
})

builder.mutationFields((t) => ({
  pauseQueue: t.field({
    type: QueuePausePayloadRef,
    description: 'Stop claiming from a part of the queue. Without `tenantId` it needs `OPERATE_PLATFORM`.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: PauseQueueInputRef, required: true }) },
    resolve: (_, { input }, context) => pauseQueue(input, context),
  }),
  resumeQueue: t.field({
    type: QueuePausePayloadRef,
    description: 'Claim again. Without `tenantId` it needs `OPERATE_PLATFORM`.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: ResumeQueueInputRef, required: true }) },
    resolve: (_, { input }, context) => resumeQueue(input, context),
  }),
}))
