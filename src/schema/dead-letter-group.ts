import { lastFailure } from '../resolvers/job-failure.ts'
import { kindView } from '../resolvers/kind-view.ts'
import { listDeadLetterGroups, type DeadLetterGroup } from '../resolvers/list-dead-letter-groups.ts'
import { builder } from './builder.ts'
import { JobErrorRef } from './job-error.ts'
import { JobFilterRef } from './job-filter.ts'
import { JobKindRef } from './job-kind.ts'
import { JobRef } from './job-ref.ts'
import { TenantRef } from './tenant.ts'

const DeadLetterGroupingRef = builder.enumType('DeadLetterGrouping', {
  description: 'What to group dead letters by.',
  values: {
    KIND: { description: 'By kind.' },
    TENANT: { description: 'By tenant.' },
    ERROR: { description: 'By cause of failure.' },
  } as const,
})

const DeadLetterGroupRef = builder.objectRef<DeadLetterGroup>('DeadLetterGroup').implement({
  description: 'Dead letters that died of the same thing.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Pass to `select: { deadLetterGroup: … }` of a bulk mutation.' }),
    kind: t.field({
      type: JobKindRef,
      nullable: true,
      description: 'Common kind, if grouped by kind.',
      resolve: ({ kind }, _, context) => (kind === null ? null : kindView(kind, context)),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'Common tenant, if grouped by tenant.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    error: t.field({
      type: JobErrorRef,
      nullable: true,
      description: 'A typical failure.',
      resolve: ({ sample }) => lastFailure(sample),
    }),
    count: t.expose('count', { type: 'SafeInt', description: 'How many.' }),
    firstAt: t.expose('firstAt', { type: 'DateTime', description: 'First one.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'Last one.' }),
    sample: t.expose('sample', { type: JobRef, description: 'One of them.' }),
    history: t.intList({
      description: 'How many died in each of the last 24 hours, oldest first.',
      directives: [{ name: 'listSize', args: { assumedSize: 24 } }],
      resolve: ({ history }) => [...history],
    }),
  }),
})

builder.queryField('deadLetterGroups', (t) =>
  t.field({
    type: [DeadLetterGroupRef],
    description: 'What the dead letters died of, most frequent first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: {
      filter: t.arg({ type: JobFilterRef, description: 'Narrow down. `status` is ignored.' }),
      by: t.arg({
        type: [DeadLetterGroupingRef],
        required: true,
        defaultValue: ['KIND', 'ERROR'],
        description: 'Group by these.',
      }),
      first: t.arg.int({ required: true, defaultValue: 20, description: 'At most this many groups, up to 100.' }),
    },
    resolve: (_, args, context) => listDeadLetterGroups(args, context),
  }),
)
