import { execute } from '@graphql-tools/executor'
import { buildSchema, getOperationAST, parse, validate, type GraphQLObjectType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { compileVariables } from '../../src/server/coerce-variables.ts'

// An operation whose variables are coerced beforehand answers to the byte like one whose variables the executor coerces.

const schema = buildSchema(`
  scalar JSON
  enum Color { RED GREEN }
  input Point { x: Int!  y: Int = 2  tags: [String!]  color: Color = RED }
  type Query { args(n: Int, sure: Int! = 5, point: Point, ids: [ID!] = ["a"], color: Color): String  told: String  raw(json: JSON): String }
`)
const { args, raw, told } = (schema.getType('Query') as GraphQLObjectType).getFields()
args!.resolve = (_, given) => JSON.stringify(given)
raw!.resolve = (_, given) => JSON.stringify(given)
told!.resolve = (_, __, ___, { variableValues }) => JSON.stringify(variableValues.coerced)

const compiled = (query: string, operationName?: string) => {
  const document = parse(query)
  expect(validate(schema, document)).toEqual([])
  return { document, plan: compileVariables(schema, document, getOperationAST(document, operationName)!) }
}

async function expectSame(query: string, variableValues: Record<string, unknown>, operationName?: string) {
  const { document, plan } = compiled(query, operationName)
  const own = await execute({
    schema,
    document: plan!.document,
    variableValues: plan!.coerce(variableValues)!,
    operationName,
  })
  expect(JSON.stringify(own)).toBe(JSON.stringify(await execute({ schema, document, variableValues, operationName })))
}

const all =
  'query ($n: Int, $sure: Int, $point: Point, $ids: [ID!], $color: Color) { args(n: $n, sure: $sure, point: $point, ids: $ids, color: $color) told }'

describe('answers like the executor', () => {
  test.each([
    ['given', { n: 1, sure: 2, point: { x: 1 }, ids: ['a', 'b'], color: 'RED' }],
    ['one for a list', { ids: 'a' }],
    ['left out', {}],
    ['null', { n: null, point: null, ids: null, color: null }],
    ['null where a default stands in', { sure: null }],
    ['too many', { n: 1, more: 2 }],
  ])('%s', async (_, variables) => {
    await expectSame(all, variables)
  })

  test.each([{}, { n: null }, { n: 7, point: { x: 2, y: 3, color: 'GREEN' } }])(
    'with defaults: %j',
    async (variables) => {
      await expectSame(
        'query ($n: Int! = 4, $point: Point = { x: 9 }) { args(n: $n, point: $point) told }',
        variables.n === null ? {} : variables,
      )
    },
  )

  test.each([true, false])('a directive: %j', async (no) => {
    await expectSame('query ($no: Boolean!) { told @skip(if: $no) ... @include(if: $no) { args } }', { no })
  })

  test('JSON', async () => {
    await expectSame('query ($json: JSON) { raw(json: $json) }', { json: { a: [1, null, { b: 'c' }] } })
  })

  test('one of several operations', async () => {
    await expectSame('query A { told } query B($n: Int) { args(n: $n) b: args(n: 2) }', { n: 3 }, 'B')
  })
})

test.each([
  { n: 'x' },
  { n: 1.5 },
  { point: {} },
  { point: { x: 1, z: 2 } },
  { point: [] },
  { ids: [null] },
  { color: 'BLUE' },
])('a variable that is not as it must be is for the executor: %j', (variables) => {
  expect(compiled(all).plan!.coerce(variables)).toBeNull()
})

test.each([{}, { n: null }])('one that is missing: %j', (variables) => {
  expect(compiled('query ($n: Int!) { args(n: $n) }').plan!.coerce(variables)).toBeNull()
})

test.each(['query ($x: Int!) { args(point: { x: $x }) }', 'query ($id: ID!) { args(ids: [$id]) }'])(
  'is left to the executor: %s',
  (query) => {
    expect(compiled(query).plan).toBeNull()
  },
)
