import { parseExactly } from '../jobs/parse-exactly.ts'
import { listEntities, type EntityPage } from '../resolvers/list-entities.ts'
import type { EntityRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { EntityTypeRef } from './entity-type.ts'
import { CountRef, OrderDirectionRef } from './jobs.ts'
import { NodeRef } from './node.ts'

export const EntityRef = builder.objectRef<EntityRow>('Entity').implement({
  description: 'One entity.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `entity_${id}` }),
    type: t.field({
      type: EntityTypeRef,
      description: 'Its type.',
      resolve: async ({ typeId }, _, { loaders }) => (await loaders.entityTypes.load(typeId))!,
    }),
    externalKey: t.exposeString('externalKey', { nullable: true, description: 'Key in the source it came from.' }),
    attributes: t.field({
      type: 'JSON',
      description: 'Its attributes.',
      resolve: ({ attributesText }) => parseExactly(attributesText),
    }),
    version: t.exposeInt('version', { description: 'Goes up with each change.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

export const EntityConnectionRef = connectionOf<EntityRow, EntityPage>(EntityRef, { one: 'entity', many: 'entities' })

builder.objectField(EntityConnectionRef, 'totalCount', (t) =>
  t.field({
    type: CountRef,
    description: 'How many match.',
    directives: [{ name: 'cost', args: { weight: '10' } }],
    args: { atMost: t.arg.int({ required: true, defaultValue: 10_000 }) },
    resolve: (page, { atMost }) => page.count(atMost),
  }),
)

const AttributeFilterRef = builder.inputType('AttributeFilter', {
  description: 'Narrow down entities by one attribute.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Attribute key; it must be searchable and its index ACTIVE.' }),
    eq: t.field({ type: 'JSON', description: 'Equal to this.' }),
    gte: t.field({ type: 'JSON', description: 'At least this.' }),
    lt: t.field({ type: 'JSON', description: 'Less than this.' }),
    contains: t.string({ description: 'Contains this text, case-insensitive (TEXT only).' }),
  }),
})

const EntityFilterRef = builder.inputType('EntityFilter', {
  description: 'Narrow down entities.',
  fields: (t) => ({
    search: t.string({ description: 'Full text, as people type it into a search box.' }),
    attributes: t.field({ type: [AttributeFilterRef], description: 'By attributes; all must hold.' }),
    matches: t.field({
      type: 'JSON',
      description: 'Attributes contain this JSON (types that are external source targets only).',
    }),
  }),
})

const EntityOrderRef = builder.inputType('EntityOrder', {
  description: 'Sort entities by a sortable attribute.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Attribute key.' }),
    direction: t.field({ type: OrderDirectionRef, required: true, defaultValue: 'ASC', description: 'Direction.' }),
  }),
})

builder.queryField('entities', (t) =>
  t.field({
    type: EntityConnectionRef,
    description: 'Entities of one type.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_PAYLOADS']] } },
    ],
    args: {
      typeId: t.arg.id({ required: true }),
      filter: t.arg({ type: EntityFilterRef }),
      orderBy: t.arg({ type: EntityOrderRef }),
      first: t.arg.int({ required: true, defaultValue: 20 }),
      after: t.arg.string(),
    },
    resolve: (_, args, context) => listEntities(args, context),
  }),
)
