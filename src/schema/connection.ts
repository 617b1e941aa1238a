import type { ObjectRef } from '@pothos/core'
import type { Page } from '../resolvers/page.ts'
import { builder } from './builder.ts'

type Types = typeof builder.$inferSchemaTypes

interface PageInfo {
  readonly hasNextPage: boolean
  readonly hasPreviousPage: boolean
  readonly startCursor: string | null
  readonly endCursor: string | null
}

const PageInfoRef = builder.objectRef<PageInfo>('PageInfo').implement({
  description: 'Where a page begins and ends.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there is a next page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether there is a previous page.' }),
    startCursor: t.exposeString('startCursor', {
      nullable: true,
      description: 'Pass as `before` for the previous page.',
    }),
    endCursor: t.exposeString('endCursor', { nullable: true, description: 'Pass as `after` for the next page.' }),
  }),
})

/** The two types of a page of something: `<Type>Connection` and `<Type>Edge`. `one` and `many` are its names in descriptions. */
export function connectionOf<Row, PageOfRows extends Page<Row> = Page<Row>>(
  node: ObjectRef<Types, Row>,
  {
    one,
    many,
    sort = '',
  }: {
    readonly one: string
    readonly many: string
    /** `audit `, for sentences where the name alone says too little. */ readonly sort?: string
  },
) {
  const article = /^[aeiou]/.test(sort + one) ? 'An' : 'A'
  const edge = builder.objectRef<Page<Row>['edges'][number]>(`${node.name}Edge`).implement({
    description: `${article} ${sort}${one} in a page.`,
    fields: (t) => ({
      cursor: t.string({ description: `Cursor of this ${one}.`, resolve: (each) => each.cursor }),
      node: t.field({ type: node, description: `The ${one}.`, resolve: (each) => each.node as never }),
    }),
  })
  return builder.objectRef<PageOfRows>(`${node.name}Connection`).implement({
    description: `A page of ${sort}${many}.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        description: `${many.charAt(0).toUpperCase()}${many.slice(1)} with their cursors.`,
        resolve: (page) => [...page.edges],
      }),
      nodes: t.field({
        type: [node],
        description: `The ${many}, without cursors.`,
        resolve: (page) => page.edges.map((each) => each.node) as never,
      }),
      pageInfo: t.field({ type: PageInfoRef, description: 'Paging.', resolve: pageInfo }),
    }),
  })
}

function pageInfo({ edges, hasNextPage, hasPreviousPage }: Page<unknown>): PageInfo {
  return {
    hasNextPage,
    hasPreviousPage,
    startCursor: edges[0]?.cursor ?? null,
    endCursor: edges.at(-1)?.cursor ?? null,
  }
}
