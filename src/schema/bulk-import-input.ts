import { builder } from './builder.ts'

export const BulkImportInputRef = builder.inputType('BulkImportInput', {
  description: 'An uploaded import to go on with.',
  fields: (t) => ({
    importId: t.id({ required: true, description: 'The import to commit.' }),
    batchSize: t.int({ defaultValue: 500, description: 'Rows in one transaction.' }),
  }),
})
