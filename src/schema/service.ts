import { getService, type ServiceView } from '../resolvers/get-service.ts'
import { listInstances } from '../resolvers/list-instances.ts'
import { listPauses } from '../resolvers/list-pauses.ts'
import { builder } from './builder.ts'
import { QueuePauseRef } from './queue-pause.ts'
import { InstanceRef } from './worker.ts'

const BusDriverRef = builder.enumType('BusDriver', {
  description: 'What carries events between instances.',
  values: {
    POSTGRES: { description: 'PostgreSQL LISTEN/NOTIFY.' },
    REDIS: { description: 'Redis.' },
  } as const,
})

const ServiceRef = builder.objectRef<ServiceView>('Service').implement({
  description: 'The service itself.',
  fields: (t) => ({
    version: t.exposeString('version', { description: 'Software version.' }),
    instances: t.field({
      type: [InstanceRef],
      description: 'All living instances.',
      directives: [{ name: 'listSize', args: { assumedSize: 16 } }],
      resolve: (_, _args, context) => listInstances(context),
    }),
    pauses: t.field({
      type: [QueuePauseRef],
      description: 'Pauses in force.',
      resolve: (_, _args, context) => listPauses(context),
    }),
    bus: t.expose('bus', { type: BusDriverRef, description: 'What carries events between instances.' }),
    databaseLatencySeconds: t.float({
      description: 'Round trip to the database, in seconds.',
      resolve: ({ databaseLatencySeconds }) => databaseLatencySeconds(),
    }),
    streamLagSeconds: t.exposeFloat('streamLagSeconds', {
      description: 'How far behind the event stream is, in seconds.',
    }),
    warnings: t.stringList({
      description:
        'What an operator should know: drift, held snapshots, kinds without workers, and the like. Empty without `OPERATE_PLATFORM`.',
      directives: [{ name: 'listSize', args: { assumedSize: 20 } }],
      resolve: ({ warnings }) => warnings(),
    }),
  }),
})

builder.queryField('service', (t) =>
  t.field({
    type: ServiceRef,
    description: 'The service itself.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    resolve: (_, _args, context) => getService(context),
  }),
)
