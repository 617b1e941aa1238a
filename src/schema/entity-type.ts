import { listEntityTypes } from '../resolvers/find-entity-type.ts'
import { reindexEntityType } from '../resolvers/reindex-entity-type.ts'
import type { EntityAttributeRow, EntityTypeRow, StoredIndexError } from '../resolvers/rows.ts'
import { setEntityType, type EntityTypeResult } from '../resolvers/set-entity-type.ts'
import { builder } from './builder.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const AttributeDataTypeRef = builder.enumType('AttributeDataType', {
  description: 'What an attribute holds.',
  values: {
    TEXT: { value: 'text', description: 'Text.' },
    NUMBER: { value: 'number', description: 'A number.' },
    DATE: { value: 'date', description: 'A calendar date.' },
    TIMESTAMP: { value: 'timestamp', description: 'An instant.' },
    BOOLEAN: { value: 'boolean', description: 'True or false.' },
  } as const,
})

const IndexStatusRef = builder.enumType('IndexStatus', {
  description: 'State of an index that jobs build.',
  values: {
    NONE: { value: 'none', description: 'Not wanted.' },
    PENDING: { value: 'pending', description: 'Wanted, its job waits.' },
    BUILDING: { value: 'building', description: 'Being built.' },
    ACTIVE: { value: 'active', description: 'Usable.' },
    FAILED: { value: 'failed', description: 'The build failed: see the error.' },
  } as const,
})

const IndexErrorRef = builder.objectRef<StoredIndexError>('IndexError').implement({
  description: 'Why an index is not there.',
  fields: (t) => ({
    code: t.string({
      description: 'Machine-readable cause, e.g. `coercion_failed`.',
      resolve: ({ code }) => code ?? 'unknown',
    }),
    message: t.string({ description: 'For people.', resolve: ({ message }) => message ?? 'The cause was not kept.' }),
    badRows: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'How many rows stand in the way.',
      resolve: ({ bad_rows: rows }) => rows ?? null,
    }),
    sampleEntityIds: t.idList({
      description: 'Some of them.',
      resolve: ({ sample }) => (sample ?? []).map((id) => `entity_${id}`),
    }),
  }),
})

const EntityAttributeRef = builder.objectRef<EntityAttributeRow>('EntityAttribute').implement({
  description: 'An attribute of a type.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `attribute_${id}` }),
    key: t.exposeString('key', { description: 'Its key, unique in the type.' }),
    dataType: t.expose('dataType', { type: AttributeDataTypeRef, description: 'What it holds.' }),
    required: t.exposeBoolean('required', { description: 'Whether each entity must have it.' }),
    searchable: t.exposeBoolean('searchable', { description: 'Whether it can be filtered by.' }),
    sortable: t.exposeBoolean('sortable', { description: 'Whether it can be sorted by.' }),
    searchWeight: t.exposeString('searchWeight', { description: 'Weight in full-text search, A to D.' }),
    indexStatus: t.expose('indexStatus', { type: IndexStatusRef, description: 'State of its index.' }),
    indexName: t.exposeString('indexName', { nullable: true, description: 'Its name in the database.' }),
    indexError: t.expose('indexError', { type: IndexErrorRef, nullable: true, description: 'Why it failed.' }),
  }),
})

export const EntityTypeRef = builder.objectRef<EntityTypeRow>('EntityType').implement({
  description: 'A type of entities.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `entitytype_${id}` }),
    tenant: t.field({
      type: TenantRef,
      description: 'Its tenant.',
      resolve: async ({ tenantId }, _, { loaders }) => (await loaders.tenants.load(tenantId))!,
    }),
    key: t.exposeString('key', { description: 'Its key, unique in the tenant.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    language: t.exposeString('language', { description: 'Language of its full-text search.' }),
    attributes: t.field({
      type: [EntityAttributeRef],
      description: 'Its attributes.',
      directives: [{ name: 'listSize', args: { assumedSize: 50 } }],
      resolve: async ({ id }, _, { loaders }) => [...((await loaders.entityAttributes.load(id))?.attributes ?? [])],
    }),
    externalSourceTarget: t.exposeBoolean('externalSourceTarget', {
      description: 'Whether external sources look its entities up: builds the GIN index.',
    }),
    ginIndexStatus: t.expose('ginIndexStatus', { type: IndexStatusRef, description: 'State of the GIN index.' }),
    ginIndexName: t.exposeString('ginIndexName', { nullable: true, description: 'Its name in the database.' }),
    ginIndexError: t.expose('ginIndexError', { type: IndexErrorRef, nullable: true, description: 'Why it failed.' }),
    searchVersion: t.exposeInt('searchVersion', {
      description: 'Version of its search configuration; entities with an older one are being caught up by `reindex`.',
    }),
  }),
})

builder.queryField('entityTypes', (t) =>
  t.field({
    type: [EntityTypeRef],
    description: "Entity types of the caller's tenants.",
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { tenantId: t.arg.id() },
    resolve: (_, args, context) => listEntityTypes(args, context),
  }),
)

const EntityAttributeInputRef = builder.inputType('EntityAttributeInput', {
  description: 'An attribute to create or change.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Its key.' }),
    dataType: t.field({ type: AttributeDataTypeRef, required: true, description: 'What it holds.' }),
    required: t.boolean({ required: true, defaultValue: false, description: 'Whether each entity must have it.' }),
    searchable: t.boolean({ required: true, defaultValue: false, description: 'Whether it can be filtered by.' }),
    sortable: t.boolean({ required: true, defaultValue: false, description: 'Whether it can be sorted by.' }),
    searchWeight: t.string({ required: true, defaultValue: 'D', description: 'A to D.' }),
  }),
})

const EntityTypeInputRef = builder.inputType('EntityTypeInput', {
  description: 'A type to create or change.',
  fields: (t) => ({
    tenantId: t.id({ description: "Its tenant. Default: the caller's only one." }),
    key: t.string({ required: true, description: 'Its key.' }),
    name: t.string({ required: true, description: 'Display name.' }),
    language: t.string({
      required: true,
      defaultValue: 'simple',
      description: 'Language: german, english or simple.',
    }),
    externalSourceTarget: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Whether external sources look its entities up.',
    }),
    attributes: t.field({
      type: [EntityAttributeInputRef],
      description: 'Its attributes; those left out of a change stay as they are.',
    }),
  }),
})

const EntityTypePayloadRef = builder.objectRef<EntityTypeResult>('EntityTypePayload').implement({
  description: 'Result of a change to a type.',
  fields: (t) => ({
    entityType: t.expose('entityType', {
      type: EntityTypeRef,
      nullable: true,
      description: 'The type as it is now.',
    }),
    jobs: t.field({
      type: [JobRef],
      description: 'The jobs that the change enqueued.',
      resolve: ({ jobs }) => [...jobs],
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('setEntityType', (t) =>
  t.field({
    type: EntityTypePayloadRef,
    description:
      'Create or change a type. Flags that change enqueue their index jobs in the same transaction, whoever changes them.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: EntityTypeInputRef, required: true }) },
    resolve: (_, { input }, context) => setEntityType(input, context),
  }),
)

builder.mutationField('reindexEntityType', (t) =>
  t.field({
    type: EntityTypePayloadRef,
    description: 'Rebuild the search vectors of a type.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { id: t.arg.id({ required: true }), reason: t.arg.string() },
    resolve: (_, args, context) => reindexEntityType(args, context),
  }),
)
