import type { DocumentResult } from '../resolvers/change-document.ts'
import { listDocuments } from '../resolvers/list-documents.ts'
import { reprocessDocument } from '../resolvers/reprocess-document.ts'
import type { DocumentRow, TermOfDocument } from '../resolvers/rows.ts'
import { updateDocument } from '../resolvers/update-document.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { TaxonomyTermRef } from './taxonomy-term.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const DocumentProcessingStatusRef = builder.enumType('DocumentProcessingStatus', {
  description: "State of a document's processing.",
  values: {
    PENDING: { value: 'pending', description: 'Waits.' },
    PROCESSING: { value: 'processing', description: 'Being read.' },
    DONE: { value: 'done', description: 'Read.' },
    FAILED: { value: 'failed', description: 'Given up: see the error.' },
  } as const,
})

const TitleSourceRef = builder.enumType('TitleSource', {
  description: 'Where a title comes from.',
  values: {
    USER: { value: 'user', description: 'A person.' },
    METADATA: { value: 'metadata', description: "The file's own metadata." },
    CONTENT: { value: 'content', description: 'Its text.' },
    FILENAME: { value: 'filename', description: 'Its name.' },
  } as const,
})

const DocumentTermRef = builder.objectRef<TermOfDocument>('DocumentTerm').implement({
  description: 'A term given to a document.',
  fields: (t) => ({
    term: t.field({ type: TaxonomyTermRef, description: 'The term.', resolve: (term) => term }),
    automatic: t.exposeBoolean('automatic', { description: 'Whether a rule gave it.' }),
    score: t.exposeFloat('score', { nullable: true, description: 'How well it fits, 0 to 1.' }),
  }),
})

const DocumentRef = builder.objectRef<DocumentRow>('Document').implement({
  description: "An archived document. The archive's file is never changed.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `document_${id}` }),
    tenant: t.field({
      type: TenantRef,
      description: 'Its tenant.',
      resolve: async ({ tenantId }, _, { loaders }) => (await loaders.tenants.load(tenantId))!,
    }),
    filename: t.exposeString('filename', { description: 'File name.' }),
    contentType: t.exposeString('contentType', { description: 'Type.' }),
    sizeBytes: t.field({
      type: 'SafeInt',
      description: 'Size in bytes.',
      resolve: ({ sizeBytes }) => Number(sizeBytes),
    }),
    sha256: t.exposeString('sha256', { description: 'SHA-256 of the archived bytes.' }),
    title: t.exposeString('title', { nullable: true, description: 'Its title.' }),
    titleSource: t.expose('titleSource', {
      type: TitleSourceRef,
      nullable: true,
      description: 'Where the title comes from.',
    }),
    language: t.exposeString('language', { nullable: true, description: 'Language of the text.' }),
    pageCount: t.exposeInt('pageCount', { nullable: true, description: 'Pages.' }),
    text: t.string({
      nullable: true,
      description: 'Its text.',
      directives: [{ name: 'cost', args: { weight: '5' } }],
      resolve: async ({ id }, _, { loaders }) => (await loaders.documentContents.load(id))?.content ?? null,
    }),
    engine: t.string({
      nullable: true,
      description: 'What read it, e.g. `unpdf` or `tesseract`.',
      resolve: async ({ id }, _, { loaders }) => (await loaders.documentReadings.load(id))?.engine ?? null,
    }),
    confidence: t.float({
      nullable: true,
      description: 'How sure text recognition was, 0 to 1.',
      resolve: async ({ id }, _, { loaders }) => (await loaders.documentReadings.load(id))?.confidence ?? null,
    }),
    terms: t.field({
      type: [DocumentTermRef],
      description: 'Its terms.',
      directives: [{ name: 'listSize', args: { assumedSize: 20 } }],
      resolve: async ({ id }, _, { loaders }) => [...((await loaders.documentTerms.load(id))?.terms ?? [])],
    }),
    processingStatus: t.expose('processingStatus', { type: DocumentProcessingStatusRef, description: 'State.' }),
    processingError: t.exposeString('processingError', { nullable: true, description: 'Why it was given up.' }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'Its job.',
      resolve: ({ jobId }, _, { caller, loaders }) =>
        jobId !== null && caller?.scopes.has('READ_JOBS') ? loaders.jobs.load(jobId) : null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was stored.' }),
  }),
})

const DocumentConnectionRef = connectionOf(DocumentRef, { one: 'document', many: 'documents' })

builder.queryField('documents', (t) =>
  t.field({
    type: DocumentConnectionRef,
    description: 'Documents, newest first, or best match first when searched.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_PAYLOADS']] } },
    ],
    args: {
      search: t.arg.string(),
      termPath: t.arg.string(),
      status: t.arg({ type: [DocumentProcessingStatusRef] }),
      first: t.arg.int({ required: true, defaultValue: 20 }),
      after: t.arg.string(),
    },
    resolve: (_, args, context) => listDocuments(args, context),
  }),
)

const DocumentPayloadRef = builder.objectRef<DocumentResult>('DocumentPayload').implement({
  description: 'Result of a change to a document.',
  fields: (t) => ({
    document: t.expose('document', { type: DocumentRef, nullable: true, description: 'The document as it is now.' }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('reprocessDocument', (t) =>
  t.field({
    type: DocumentPayloadRef,
    description: 'Read a document again.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['CONTROL_JOBS']] } },
    ],
    args: { id: t.arg.id({ required: true }), reason: t.arg.string() },
    resolve: (_, args, context) => reprocessDocument(args, context),
  }),
)

const UpdateDocumentInputRef = builder.inputType('UpdateDocumentInput', {
  description: "A person's word on a document.",
  fields: (t) => ({
    id: t.id({ required: true, description: 'The document.' }),
    title: t.string({ description: 'Its title; null: derive it.' }),
    termPaths: t.stringList({ description: 'Terms given by hand, by path.' }),
  }),
})

builder.mutationField('updateDocument', (t) =>
  t.field({
    type: DocumentPayloadRef,
    description: "A person's title and terms; they survive every later run.",
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['CONTROL_JOBS']] } },
    ],
    args: { input: t.arg({ type: UpdateDocumentInputRef, required: true }) },
    resolve: (_, { input }, context) => updateDocument(input, context),
  }),
)
