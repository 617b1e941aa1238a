import { builder } from './builder.ts'

export const ScheduleInputRef = builder.inputType('ScheduleInput', {
  description: 'When a job becomes available: exactly one of the two.',
  isOneOf: true,
  fields: (t) => ({
    at: t.field({ type: 'DateTime', description: 'At this instant.' }),
    after: t.field({ type: 'Duration', description: 'After this time.' }),
  }),
})
