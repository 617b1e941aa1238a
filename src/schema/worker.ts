import { kindView } from '../resolvers/kind-view.ts'
import { listJobsInHand } from '../resolvers/list-jobs-in-hand.ts'
import { listWorkersOf } from '../resolvers/list-workers-of.ts'
import type { InstanceRow, WorkerRow } from '../resolvers/rows.ts'
import { findTenants } from '../resolvers/find-tenants.ts'
import { busySlots, workerState } from '../resolvers/worker-state.ts'
import { builder } from './builder.ts'
import { JobKindRef } from './job-kind.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'

const WorkerStateRef = builder.enumType('WorkerState', {
  description: 'What a worker is doing.',
  values: {
    IDLE: { description: 'Waiting for work.' },
    BUSY: { description: 'Working.' },
    DRAINING: { description: 'Finishing its job before it stops.' },
    LOST: { description: 'No heartbeat.' },
  } as const,
})

export const WorkerRef = builder.objectRef<WorkerRow>('Worker')
export const InstanceRef = builder.objectRef<InstanceRow>('Instance')

WorkerRef.implement({
  description: 'One pool of slots in one process: what claims jobs.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `worker_${id}` }),
    name: t.exposeString('name', { description: 'The name written to `claimed_by`: `<host>/<pid>/<uuid>`.' }),
    instance: t.field({
      type: InstanceRef,
      nullable: true,
      description: 'The instance it belongs to. Null once that is gone.',
      resolve: ({ instanceId }, _, { loaders }) => (instanceId === null ? null : loaders.instances.load(instanceId)),
    }),
    slots: t.exposeInt('slots', { description: 'How many jobs it can run at once.' }),
    busy: t.int({ description: 'How many it runs now.', resolve: (worker, _, context) => busySlots(worker, context) }),
    currentJobs: t.field({
      type: [JobRef],
      description: 'The jobs in hand; those of foreign tenants are left out.',
      directives: [{ name: 'listSize', args: { assumedSize: 16 } }],
      resolve: (worker, _, context) => listJobsInHand(worker, context),
    }),
    state: t.field({
      type: WorkerStateRef,
      description: 'What it is doing.',
      resolve: (worker, _, context) => workerState(worker, context),
    }),
    currentJob: t.field({
      type: JobRef,
      nullable: true,
      description: "The oldest job in hand, if it is the caller's to see.",
      resolve: async (worker, _, context) => (await listJobsInHand(worker, context))[0] ?? null,
    }),
    kinds: t.field({
      type: [JobKindRef],
      description: 'Kinds it takes. Empty: all.',
      resolve: ({ kinds }, _, context) => Promise.all((kinds ?? []).map(async (name) => kindView(name, context))),
    }),
    tenants: t.field({
      type: [TenantRef],
      description: 'Tenants it takes. Empty: all.',
      resolve: ({ tenants }, _, context) => findTenants(tenants ?? [], context),
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'Since when.' }),
    lastSeenAt: t.field({
      type: 'DateTime',
      description: 'Last sign of life.',
      resolve: async ({ instanceId, startedAt }, _, { loaders }) =>
        (instanceId === null ? null : await loaders.instances.load(instanceId))?.heartbeatAt ?? startedAt,
    }),
  }),
})

InstanceRef.implement({
  description: 'One process of this service.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `instance_${id}` }),
    host: t.string({
      nullable: true,
      description: 'Host name. Null without `OPERATE_PLATFORM`.',
      resolve: ({ host }, _, { caller }) => (caller?.scopes.has('OPERATE_PLATFORM') ? host : null),
    }),
    pid: t.int({
      nullable: true,
      description: 'Process id. Null without `OPERATE_PLATFORM`.',
      resolve: ({ pid }, _, { caller }) => (caller?.scopes.has('OPERATE_PLATFORM') ? pid : null),
    }),
    version: t.exposeString('version', { description: 'Software version.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'Since when.' }),
    lastSeenAt: t.expose('heartbeatAt', { type: 'DateTime', description: 'Last sign of life.' }),
    workers: t.field({
      type: [WorkerRef],
      description: 'Its pools.',
      directives: [{ name: 'listSize', args: { assumedSize: 16 } }],
      resolve: (instance, _, context) => listWorkersOf(instance, context),
    }),
    eventLoopDelaySeconds: t.float({
      description: 'Event-loop delay, 99th percentile, in seconds.',
      resolve: ({ eventLoopDelayMs }) => eventLoopDelayMs / 1_000,
    }),
    subscriptions: t.exposeInt('subscriptions', { description: 'Open subscriptions.' }),
  }),
})
