import { listInstances } from '../resolvers/list-instances.ts'
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
