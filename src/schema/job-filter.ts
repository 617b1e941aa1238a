import { builder } from './builder.ts'
import { JobStatusRef } from './job-status.ts'

export const DateTimeRangeInputRef = builder.inputType('DateTimeRangeInput', {
  description: 'A half-open span of time: `from` ≤ t < `to`.',
  fields: (t) => ({
    from: t.field({ type: 'DateTime', description: 'Earliest instant, inclusive.' }),
    to: t.field({ type: 'DateTime', description: 'Latest instant, exclusive.' }),
  }),
})

const IntRangeInputRef = builder.inputType('IntRangeInput', {
  description: 'A closed span of whole numbers.',
  fields: (t) => ({
    min: t.int({ description: 'Smallest value, inclusive.' }),
    max: t.int({ description: 'Largest value, inclusive.' }),
  }),
})

export const JobFilterRef = builder.inputType('JobFilter', {
  description:
    'Narrow down jobs. Fields combine with AND, values inside a list with OR (tags: all of them). `payload` and `errorText` need `READ_PAYLOADS`.',
  fields: (t) => ({
    status: t.field({ type: [JobStatusRef], description: 'Any of these statuses.' }),
    kind: t.stringList({ description: 'Any of these kinds.' }),
    tenantId: t.idList({ description: "Any of these tenants. Default: all of the caller's." }),
    id: t.idList({ description: 'Any of these jobs.' }),
    tag: t.stringList({ description: 'Carries all of these tags.' }),
    payload: t.field({
      type: 'JSON',
      description: 'The payload contains this JSON, e.g. `{"to":{"address":"a@b.c"}}` (jsonb containment).',
    }),
    errorFingerprint: t.string({ description: 'Failures of this cause.' }),
    errorText: t.string({ description: 'The last error contains this text (case-insensitive).' }),
    idempotencyKey: t.string({ description: 'Exactly this idempotency key.' }),
    correlationId: t.string({ description: 'Exactly this correlation id.' }),
    workerId: t.id({ description: 'Claimed by this worker.' }),
    priority: t.field({ type: IntRangeInputRef, description: 'Priority range.' }),
    attemptCount: t.field({ type: IntRangeInputRef, description: 'Attempt count range.' }),
    createdAt: t.field({ type: DateTimeRangeInputRef, description: 'Enqueued in this span.' }),
    availableAt: t.field({ type: DateTimeRangeInputRef, description: 'Due in this span.' }),
    completedAt: t.field({ type: DateTimeRangeInputRef, description: 'Finished in this span.' }),
  }),
})
