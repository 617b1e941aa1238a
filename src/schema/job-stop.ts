import { principalOf } from '../jobs/permissions.ts'
import type { JobRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { PrincipalRef } from './principal.ts'

const JobStopCauseRef = builder.enumType('JobStopCause', {
  description: 'Why a job will not be tried again.',
  values: {
    CANCELLED: { value: 'cancelled', description: 'Its enqueuer no longer wants it.' },
    STOPPED: { value: 'stopped', description: 'An administrator declared it broken.' },
  } as const,
})

/** Of a job that has a stop: the database keeps cause, time and person together. */
export const JobStopRef = builder.objectRef<JobRow>('JobStop').implement({
  description: 'A cancel or stop, asked for or done.',
  fields: (t) => ({
    cause: t.field({
      type: JobStopCauseRef,
      description: 'Cancelled or stopped.',
      resolve: ({ stopCause }) => stopCause!,
    }),
    by: t.field({
      type: PrincipalRef,
      description: 'Who asked.',
      resolve: ({ stopRequestedBy }) => principalOf(stopRequestedBy!),
    }),
    reason: t.exposeString('stopReason', { nullable: true, description: 'Why.' }),
    requestedAt: t.field({
      type: 'DateTime',
      description: 'When it was asked for. A running attempt is signalled and ends when the worker obeys.',
      resolve: ({ stopRequestedAt }) => stopRequestedAt!,
    }),
  }),
})
