import { kindView } from '../resolvers/kind-view.ts'
import { listConcurrencyLimits } from '../resolvers/list-concurrency-limits.ts'
import type { ConcurrencyLimitRow } from '../resolvers/rows.ts'
import { setConcurrencyLimit, type SetConcurrencyLimitResult } from '../resolvers/set-concurrency-limit.ts'
import { builder } from './builder.ts'
import { JobKindRef } from './job-kind.ts'
import { QueueSelectorInputRef } from './queue-selector.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const ConcurrencyLimitRef = builder.objectRef<ConcurrencyLimitRow>('ConcurrencyLimit').implement({
  description: 'A cap in force.',
  fields: (t) => ({
    kind: t.field({
      type: JobKindRef,
      nullable: true,
      description: 'The kind. Null: every kind.',
      resolve: ({ kind }, _, context) => (kind === null ? null : kindView(kind, context)),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'The tenant. Null: every tenant.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    max: t.exposeInt('max', { nullable: true, description: 'The cap. Null: none.' }),
    running: t.expose('running', { type: 'SafeInt', description: 'Running now.' }),
  }),
})

builder.queryField('concurrencyLimits', (t) =>
  t.field({
    type: [ConcurrencyLimitRef],
    description: 'Caps in force.',
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    resolve: (_, _args, context) => listConcurrencyLimits(context),
  }),
)

const SetConcurrencyLimitInputRef = builder.inputType('SetConcurrencyLimitInput', {
  description: 'A cap on jobs running at once, over all instances.',
  fields: (t) => ({
    queue: t.field({ type: QueueSelectorInputRef, required: true, description: 'Which part of the queue.' }),
    max: t.int({ description: 'The cap. Null: none. Lowering it stops nobody; raising it wakes who waits.' }),
  }),
})

const SetConcurrencyLimitPayloadRef = builder
  .objectRef<SetConcurrencyLimitResult>('SetConcurrencyLimitPayload')
  .implement({
    description: 'Result of setting a cap.',
    fields: (t) => ({
      concurrencyLimit: t.expose('concurrencyLimit', {
        type: ConcurrencyLimitRef,
        nullable: true,
        description: 'The cap now in force.',
      }),
      errors: errorsOf(t),
    }),
  })

builder.mutationField('setConcurrencyLimit', (t) =>
  t.field({
    type: SetConcurrencyLimitPayloadRef,
    description:
      'Cap how many jobs of a kind, a tenant or both run at once, over all instances. Takes effect within a second.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA', 'OPERATE_PLATFORM']] } },
    ],
    args: { input: t.arg({ type: SetConcurrencyLimitInputRef, required: true }) },
    resolve: (_, { input }, context) => setConcurrencyLimit(input, context),
  }),
)
