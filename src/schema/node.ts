import { findNode, type FoundNode } from '../resolvers/find-node.ts'
import { ApiError } from '../resolvers/api-error.ts'
import { authorize } from '../resolvers/context.ts'
import { builder } from './builder.ts'

export const NodeRef = builder.interfaceRef<object>('Node').implement({
  description: 'An object that can be refetched by its id.',
  fields: (t) => ({
    id: t.id({
      description:
        'Globally unique and readable: a type prefix and the database key, e.g. `job_0197f3c2-…`. Treat it as opaque.',
      resolve: (node) => String((node as FoundNode).id),
    }),
  }),
  resolveType: (node) => (node as FoundNode).nodeType,
})

const mostNodes = 100

builder.queryField('node', (t) =>
  t.field({
    type: NodeRef,
    nullable: true,
    description: 'Any object by its id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, context) => findNode(id, context),
  }),
)

builder.queryField('nodes', (t) =>
  t.field({
    type: [NodeRef],
    nullable: { list: false, items: true },
    description: 'Several objects by their ids, in order; null where there is none. At most 100.',
    directives: [{ name: 'listSize', args: { slicingArguments: ['ids'], assumedSize: mostNodes } }],
    args: { ids: t.arg.idList({ required: true }) },
    resolve: (_, { ids }, context) => {
      authorize(context, [])
      if (ids.length > mostNodes)
        throw new ApiError('BAD_USER_INPUT', 'At most 100 ids are allowed.', { reason: 'INVALID' })
      return Promise.all(ids.map((id) => findNode(id, context)))
    },
  }),
)
