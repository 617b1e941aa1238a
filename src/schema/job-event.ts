import type { JobEvent } from '../jobs/job-event.ts'
import { principalOf } from '../jobs/permissions.ts'
import { eventFailure } from '../resolvers/job-failure.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobErrorRef } from './job-error.ts'
import { JobStatusRef } from './job-status.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { WorkerRef } from './worker.ts'

const JobEventTypeRef = builder.enumType('JobEventType', {
  description: 'What happened to a job.',
  values: {
    ENQUEUED: { description: 'Created.' },
    CLAIMED: { description: 'A worker took it.' },
    RETRY_SCHEDULED: { description: 'Went back to PENDING after a failure.' },
    RELEASED: { description: 'Went back to PENDING without counting an attempt, e.g. on shutdown.' },
    RECOVERED: { description: 'Its worker vanished; the claim was taken back.' },
    SUCCEEDED: { description: 'Finished successfully.' },
    DEAD_LETTERED: { description: 'Attempts used up.' },
    REPLAYED: { description: 'Put back by a person.' },
    CANCEL_REQUESTED: { description: 'A running attempt was asked to end.' },
    CANCELLED: { description: 'Withdrawn.' },
    STOPPED: { description: 'Flagged as not to be tried again.' },
    RESCHEDULED: { description: 'Its time was changed.' },
    REPRIORITIZED: { description: 'Its priority was changed.' },
    UPDATED: { description: 'An enqueue with the same key replaced its payload, time or priority.' },
    DISCARDED: { description: 'Deleted.' },
  } as const,
})

export const JobEventRef = builder.objectRef<JobEvent>('JobEvent').implement({
  description: "One step in a job's life.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Node id.' }),
    revision: t.exposeInt('revision', { description: "The job's revision after this step." }),
    type: t.expose('type', { type: JobEventTypeRef, description: 'What happened.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    fromStatus: t.expose('fromStatus', { type: JobStatusRef, nullable: true, description: 'Status before.' }),
    toStatus: t.expose('toStatus', {
      type: JobStatusRef,
      nullable: true,
      description: 'Status after. Null once discarded.',
    }),
    attempt: t.exposeInt('attempt', { nullable: true, description: 'Attempt number this belongs to.' }),
    worker: t.field({
      type: WorkerRef,
      nullable: true,
      description: 'Worker involved.',
      resolve: ({ workerId }, _, { loaders }) => (workerId === null ? null : loaders.workers.load(String(workerId))),
    }),
    actor: t.field({
      type: PrincipalRef,
      nullable: true,
      description: 'Who caused it.',
      resolve: async ({ actor, workerId }, _, { loaders }) => {
        if (actor !== null) return principalOf(actor)
        const worker = workerId === null ? null : await loaders.workers.load(String(workerId))
        return worker === null ? null : { id: worker.name, name: null, kind: 'WORKER' as const }
      },
    }),
    error: t.field({
      type: JobErrorRef,
      nullable: true,
      description: 'The failure, if one.',
      resolve: ({ error, at }) => (error === null ? null : eventFailure(error, at)),
    }),
    availableAt: t.expose('availableAt', { type: 'DateTime', nullable: true, description: 'New time, if it changed.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Reason given by a person.' }),
  }),
})

export const JobEventConnectionRef = connectionOf(JobEventRef, { one: 'event', many: 'events' })
