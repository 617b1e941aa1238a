import { builder } from './builder.ts'

export const ReindexInputRef = builder.inputType('ReindexInput', {
  description: 'A search index to rebuild.',
  fields: (t) => ({ typeKey: t.string({ required: true, description: 'Entity type key.' }) }),
})

export const IndexSyncInputRef = builder.inputType('IndexSyncInput', {
  description: 'An index to bring in line.',
  fields: (t) => ({ attributeId: t.id({ required: true, description: 'The attribute.' }) }),
})

export const GinBackfillInputRef = builder.inputType('GinBackfillInput', {
  description: 'A GIN index to build.',
  fields: (t) => ({ typeKey: t.string({ required: true, description: 'Entity type key.' }) }),
})
