import type { JobAttempt } from '../resolvers/list-job-attempts.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobErrorRef } from './job-error.ts'
import { WorkerRef } from './worker.ts'

const AttemptOutcomeRef = builder.enumType('AttemptOutcome', {
  description: 'How an attempt ended.',
  values: {
    RUNNING: { description: 'Still going.' },
    SUCCEEDED: { description: 'Success.' },
    FAILED: { description: 'Failed; another attempt follows.' },
    DEAD_LETTERED: { description: 'Failed for the last time.' },
    STOPPED: { description: 'Ended by cancel or stop.' },
    RELEASED: { description: 'Given back unharmed, e.g. on shutdown.' },
    LOST: { description: 'The worker vanished.' },
  } as const,
})

const JobAttemptRef = builder.objectRef<JobAttempt>('JobAttempt').implement({
  description: 'One run of a job.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Counts from 1 and keeps counting across replays.' }),
    worker: t.field({
      type: WorkerRef,
      nullable: true,
      description: 'Which worker ran it.',
      resolve: ({ worker }, _, { loaders }) => {
        if (worker === null) return null
        return 'id' in worker ? loaders.workers.load(String(worker.id)) : loaders.workersByName.load(worker.name)
      },
    }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it was claimed.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    outcome: t.expose('outcome', { type: AttemptOutcomeRef, description: 'How it ended.' }),
    error: t.field({
      type: JobErrorRef,
      nullable: true,
      description: 'Its failure.',
      resolve: ({ failure }) => failure,
    }),
    runSeconds: t.exposeFloat('runSeconds', { nullable: true, description: 'Seconds it ran.' }),
    log: t.stringList({
      description: 'Log lines kept for this attempt.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['last'] } }],
      args: { last: t.arg.int({ required: true, defaultValue: 100 }) },
      resolve: ({ log }, { last }) => (last > 0 ? log.slice(-last) : []),
    }),
  }),
})

export const JobAttemptConnectionRef = connectionOf(JobAttemptRef, { one: 'attempt', many: 'attempts' })
