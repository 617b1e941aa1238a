import { listInstances } from '../resolvers/list-instances.ts'
import { watchInstances, type InstancesNow } from '../resolvers/watch-instances.ts'
import { builder } from './builder.ts'
import { InstanceRef } from './worker.ts'

builder.queryField('instances', (t) =>
  t.field({
    type: [InstanceRef],
    description: 'Living instances and their workers.',
    directives: [
      { name: 'listSize', args: { assumedSize: 16 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    resolve: (_, _args, context) => listInstances(context),
  }),
)

builder.subscriptionField('instances', (t) =>
  t.field({
    type: [InstanceRef],
    description: 'Living instances and their workers: at once, then on every change, at most once a second.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    subscribe: (_, _args, context) => watchInstances(context),
    resolve: ({ instances }: InstancesNow) => [...instances],
  }),
)
