import { builder } from './builder.ts'

export const QueueSelectorInputRef = builder.inputType('QueueSelectorInput', {
  description: 'Which part of the queue. At least one of the two; both: their intersection.',
  fields: (t) => ({
    kind: t.string({ description: 'This kind.' }),
    tenantId: t.id({ description: 'This tenant.' }),
  }),
})
