import { builder } from './builder.ts'

export const JobStatusRef = builder.enumType('JobStatus', {
  description: 'Where a job is in its life: PENDING → RUNNING → DONE or DLQ. FAILED is only ever set by a person.',
  values: {
    PENDING: { value: 'pending', description: 'Waiting for its time and for a worker.' },
    RUNNING: { value: 'running', description: 'Claimed by a worker.' },
    DONE: { value: 'done', description: 'Finished successfully.' },
    DLQ: { value: 'dlq', description: 'Attempts used up: waits for replay or discard.' },
    FAILED: {
      value: 'failed',
      description: 'Stopped or cancelled by a person: will not be tried again and is skipped by bulk replay.',
    },
  } as const,
})
