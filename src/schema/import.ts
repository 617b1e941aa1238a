import { cancelImport } from '../resolvers/cancel-import.ts'
import { commitImport } from '../resolvers/commit-import.ts'
import type { ImportResult } from '../resolvers/import-result.ts'
import { listImportRows, shownErrors, shownRaw, type ShownRowError } from '../resolvers/list-import-rows.ts'
import { importResultUrl, listImports } from '../resolvers/list-imports.ts'
import type { ImportRow, ListedImportRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { EntityRef } from './entities.ts'
import { EntityTypeRef } from './entity-type.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { errorsOf } from './user-error.ts'

const ImportStatusRef = builder.enumType('ImportStatus', {
  description: 'State of an import.',
  values: {
    UPLOADED: { value: 'uploaded', description: 'Uploaded, waits.' },
    STAGING: { value: 'staging', description: 'Rows are read in.' },
    VALIDATING: { value: 'validating', description: 'Rows are checked.' },
    VALIDATED: { value: 'validated', description: 'Checked; a dry run ends here.' },
    COMMITTING: { value: 'committing', description: 'Rows become entities.' },
    DONE: { value: 'done', description: 'All done.' },
    FAILED: { value: 'failed', description: 'Given up: see the error.' },
    CANCELLED: { value: 'cancelled', description: 'Cancelled.' },
  } as const,
})

const ImportRowStatusRef = builder.enumType('ImportRowStatus', {
  description: 'State of a row.',
  values: {
    STAGED: { value: 'staged', description: 'Read in.' },
    VALID: { value: 'valid', description: 'Good.' },
    INVALID: { value: 'invalid', description: 'Bad: see its errors.' },
    COMMITTED: { value: 'committed', description: 'Now an entity.' },
    SKIPPED: { value: 'skipped', description: 'Left out.' },
  } as const,
})

const ImportRowErrorRef = builder.objectRef<ShownRowError>('ImportRowError').implement({
  description: 'What is wrong with a row.',
  fields: (t) => ({
    attribute: t.exposeString('attribute', { nullable: true, description: 'Attribute.' }),
    code: t.exposeString('code', { description: 'Machine-readable cause.' }),
    message: t.exposeString('message', { description: 'For people.' }),
  }),
})

const ImportRowRef = builder.objectRef<ListedImportRow>('ImportRow').implement({
  description: 'One row of an import.',
  fields: (t) => ({
    rowNumber: t.exposeInt('rowNo', { description: 'Line in the file, 1 is the first after the header.' }),
    raw: t.field({
      type: 'JSON',
      description: 'As it stood in the file. Its values are masked without `READ_PAYLOADS`.',
      resolve: (row, _, context) => shownRaw(row, context),
    }),
    status: t.expose('status', { type: ImportRowStatusRef, description: 'State.' }),
    errors: t.field({
      type: [ImportRowErrorRef],
      description: 'What is wrong.',
      resolve: (row, _, context) => shownErrors(row, context),
    }),
    entity: t.field({
      type: EntityRef,
      nullable: true,
      description: 'The entity it became.',
      resolve: ({ entityId }, _, { caller, loaders }) =>
        entityId !== null && caller?.scopes.has('READ_PAYLOADS') ? loaders.entities.load(entityId) : null,
    }),
  }),
})

const ImportRowConnectionRef = connectionOf(ImportRowRef, { one: 'row', many: 'rows' })

export const ImportRef = builder.objectRef<ImportRow>('Import').implement({
  description: 'A file on its way into entities.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `import_${id}` }),
    entityType: t.field({
      type: EntityTypeRef,
      description: 'Type of the entities.',
      resolve: async ({ entityTypeId }, _, { loaders }) => (await loaders.entityTypes.load(entityTypeId))!,
    }),
    status: t.expose('status', { type: ImportStatusRef, description: 'State.' }),
    filename: t.exposeString('filename', { nullable: true, description: 'Name of the file.' }),
    encoding: t.exposeString('encoding', { nullable: true, description: 'Its encoding, as found or declared.' }),
    totalRows: t.exposeInt('totalRows', { nullable: true, description: 'Rows in the file, once known.' }),
    stagedRows: t.exposeInt('stagedRows', { description: 'Rows read in.' }),
    validRows: t.exposeInt('validRows', { description: 'Good rows.' }),
    invalidRows: t.exposeInt('invalidRows', { description: 'Bad rows.' }),
    committedRows: t.exposeInt('committedRows', { description: 'Rows that became entities.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why it was given up.' }),
    warning: t.exposeString('warning', {
      nullable: true,
      description:
        'What to look at although it went on, e.g. that the encoding was guessed, and from which byte on. Null: nothing.',
    }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'Its job.',
      resolve: ({ jobId }, _, { caller, loaders }) =>
        jobId !== null && caller?.scopes.has('READ_JOBS') ? loaders.jobs.load(jobId) : null,
    }),
    rows: t.field({
      type: ImportRowConnectionRef,
      description: 'Its rows, in order of the file.',
      directives: [{ name: 'listSize', args: { slicingArguments: ['first'] } }],
      args: {
        status: t.arg({ type: [ImportRowStatusRef] }),
        first: t.arg.int({ required: true, defaultValue: 50 }),
        after: t.arg.string(),
      },
      resolve: (row, args, context) => listImportRows(row, args, context),
    }),
    resultUrl: t.string({
      nullable: true,
      description:
        'Where to download the rows with their outcome as CSV, once finished. Good for five minutes; null without `READ_PAYLOADS`.',
      resolve: (row, _, context) => importResultUrl(row, context),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was uploaded.' }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
})

const ImportConnectionRef = connectionOf(ImportRef, { one: 'import', many: 'imports' })

builder.queryField('imports', (t) =>
  t.field({
    type: ImportConnectionRef,
    description: 'Imports, newest first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
    resolve: (_, args, context) => listImports(args, context),
  }),
)

const ImportPayloadRef = builder.objectRef<ImportResult>('ImportPayload').implement({
  description: 'Result of a change to an import.',
  fields: (t) => ({
    import: t.expose('import', { type: ImportRef, nullable: true, description: 'The import as it is now.' }),
    errors: errorsOf(t),
  }),
})

builder.mutationFields((t) => ({
  commitImport: t.field({
    type: ImportPayloadRef,
    description: 'Go on with an import that was a dry run.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['CONTROL_JOBS']] } },
    ],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, args, context) => commitImport(args, context),
  }),
  cancelImport: t.field({
    type: ImportPayloadRef,
    description: 'End an import. What is committed stays.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['CONTROL_JOBS']] } },
    ],
    args: { id: t.arg.id({ required: true }), reason: t.arg.string() },
    resolve: (_, args, context) => cancelImport(args, context),
  }),
}))
