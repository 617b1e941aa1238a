import { execute } from '@graphql-tools/executor'
import { buildSchema, getOperationAST, parse, validate, type GraphQLResolveInfo } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compileOperation } from '../../src/server/compile-operation.ts'

const schema = buildSchema(`
  interface Named { name: String! }
  type Cat implements Named { name: String! lives: Int! friend: Named sure: Named! }
  type Dog implements Named { name: String! lives(of: Int! = 1): Int }
  union Pet = Cat | Dog
  input Size { of: Int! = 4, to: Int }
  type Query {
    cat: Cat
    sureCat: Cat!
    later: Cat
    pets: [Pet!]
    named: [Named]
    laterPets: [Pet]!
    numbers: [[Int]]
    noList: [Int]
    sized(size: Size = { to: 2 }, times: Int! = 3, words: [String]): String
    bad: Int
    badLater: Int
    stranger: Pet
    place: String
  }
  type Mutation { add(of: Int): Int addLater(of: Int): Int }
  type Subscription { tick: Int }`)

const cat = { type: 'Cat', name: 'Mia', lives: 9, friend: { type: 'Dog', name: 'Rex', lives: null }, sure: null }
const dog = { type: 'Dog', name: 'Rex', lives: ({ of }: { of: number }) => of }
const later = <Value>(value: Value) => Promise.resolve(value)
const fail = (): never => {
  throw new Error('as it is meant')
}

const values: Record<string, (args: never, context: { sum: number }, info: GraphQLResolveInfo) => unknown> = {
  cat: () => cat,
  sureCat: () => ({ ...cat, name: null }),
  later: () => later({ ...cat, lives: later(7) }),
  pets: () => [cat, later(dog)],
  named: () => [cat, new Error('one of them'), null, later(dog), Promise.reject(new Error('later'))],
  laterPets: () => later(new Set([dog, cat])),
  numbers: () => [[1, later(2)], null, [later(3), 'four']],
  noList: () => 'text',
  sized: (args) => JSON.stringify(args),
  bad: fail,
  badLater: () => later(null).then(fail),
  stranger: () => ({ type: 'Fish' }),
  place: (_, __, { fieldName, path, parentType, returnType, fieldNodes, operation, fragments, schema: of }) =>
    [fieldName, path.key, path.typename, parentType, returnType, fieldNodes.length, operation.operation]
      .concat(Object.keys(fragments).join(), String(of === schema))
      .join(' '),
  add: ({ of }: { of: number }, context) => (context.sum += of),
  addLater: ({ of }: { of: number }, context) => later(of).then((more) => (context.sum = context.sum * 10 + more)),
}
for (const type of [schema.getQueryType()!, schema.getMutationType()!])
  for (const [name, field] of Object.entries(type.getFields()))
    field.resolve = (_, args, context, info) => values[name]!(args as never, context as { sum: number }, info)
for (const name of ['Named', 'Pet']) {
  const type = schema.getType(name) as { resolveType?: unknown }
  type.resolveType = ({ type: of }: { type: string }) => (of === 'Dog' ? later(of) : of)
}

const plainly = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

async function both(source: string, variableValues: Record<string, unknown> = {}) {
  const document = parse(source)
  expect(validate(schema, document)).toEqual([])
  const run = compileOperation(schema, document, getOperationAST(document)!)!
  const compiled = await run(variableValues, { sum: 0 })
  const expected = await execute({ schema, document, variableValues, contextValue: { sum: 0 } })
  return { compiled: plainly(compiled), expected: plainly(expected), text: JSON.stringify(compiled) }
}

describe('a compiled operation answers what the general executor does', () => {
  test.each([
    ['fields', '{ cat { name lives __typename } __typename }'],
    ['an alias, and a name that objects have', '{ a: cat { __proto__: name toString: lives } }'],
    ['a field twice', '{ cat { name } place cat { lives name } place }'],
    ['promises', '{ later { lives name } cat { name } }'],
    ['unions', '{ pets { ... on Cat { lives } ... on Dog { name years: lives(of: 5) } ... on Named { name } } }'],
    ['interfaces', '{ cat { friend { name ... on Dog { lives } } } }'],
    ['lists of errors', '{ named { name } }'],
    ['a list that comes later', '{ laterPets { __typename } }'],
    ['lists of lists', '{ numbers }'],
    [
      'fragments',
      '{ cat { ...A ...A } later { ...A } place } fragment A on Cat { name ...B } fragment B on Named { name }',
    ],
    ['null where none may be', '{ cat { name sure { name } } place }'],
    ['null where none may be, to the root', '{ cat { name } sureCat { name } }'],
    ['what is thrown', '{ bad badLater cat { name } }'],
    [
      'arguments',
      '{ a: sized b: sized(size: {}) c: sized(size: null, words: "one") d: sized(times: 1, words: ["a", null]) }',
    ],
    ['changes', 'mutation { addLater(of: 4) b: addLater(of: 3) add(of: 1) }'],
    [
      'introspection',
      '{ __type(name: "Cat") { name fields { name type { kind ofType { name } } } } __schema { queryType { name } } }',
    ],
  ])('%s', async (_, source) => {
    const { compiled, expected } = await both(source)
    expect(compiled).toEqual(expected)
    expect(Object.keys((compiled as { data: object | null }).data ?? {})).toEqual(
      Object.keys((expected as { data: object | null }).data ?? {}),
    )
  })

  const sized = 'query ($size: Size, $times: Int = 2) { sized(size: $size, times: $times) }'
  test.each([
    ['none', {}],
    ['all', { size: { of: 1 }, times: 5 }],
    ['null', { size: null }],
    ['null where none may be', { times: null }],
  ])('variables: %s', async (_, given) => {
    const declared = { times: 2, ...given }
    const { compiled, expected } = await both(sized, declared)
    expect(compiled).toEqual(expected)
  })

  test.each([
    ['no list', '{ noList place }', ['noList']],
    ['a type that there is not', '{ stranger { __typename } place }', ['stranger']],
  ])('%s is an error at its place', async (_, source, path) => {
    const { compiled } = await both(source)
    expect(compiled).toMatchObject({ errors: [{ path }], data: { [path[0]!]: null } })
  })
})

test.each([
  ['a directive', '{ cat @skip(if: false) { name } }'],
  ['a directive in a fragment', '{ cat { ...A } } fragment A on Cat { name @include(if: true) }'],
  ['a subscription', 'subscription { tick }'],
])('%s is for a general executor', (_, source) => {
  const document = parse(source)
  expect(compileOperation(schema, document, getOperationAST(document)!)).toBeNull()
})
