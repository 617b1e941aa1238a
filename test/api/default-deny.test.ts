import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isEnumType,
  isScalarType,
  isObjectType,
  isInterfaceType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
} from 'graphql'
import { holdsScopes, scopes, type Scope } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { caller, codeOf, testApi, type TestApi } from './support.ts'

const schema = buildSchema()
const roots = [
  ['query', schema.getQueryType()!],
  ['mutation', schema.getMutationType()!],
  ['subscription', schema.getSubscriptionType()!],
] as const
type Field = GraphQLField<unknown, unknown>
const fields = roots.flatMap(([operation, type]) =>
  Object.values(type.getFields()).map((field) => ({ operation, name: field.name, field })),
)
/** For whoever is signed in; nodes need the scope of what is found. */
const open = ['viewer', 'node', 'nodes']

function scopesOf(field: Field): Scope[][] | undefined {
  const directives = field.extensions['directives'] as { requiresScopes?: { scopes: Scope[][] }[] } | undefined
  return directives?.requiresScopes?.[0]?.scopes
}

test('no root field is without a scope but viewer, node and nodes', () => {
  expect(
    fields
      .filter(({ field }) => scopesOf(field) === undefined)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(open.toSorted())
})

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

test.each(fields)('$operation $name keeps its scopes', async ({ operation, name, field }) => {
  const document = `${operation} { ${name}${argumentsFor(field)} ${selectionFor(field.type)} }`
  const by = async (may: readonly Scope[] | null) => {
    const who = may === null ? null : caller({ tenantIds: 'all', may })
    if (operation !== 'subscription') return codeOf(await api.run(document, {}, who))
    const stream = await api.subscribe(document, {}, who as never)
    if ('errors' in stream) return codeOf({ data: null, errors: stream.errors! })
    await (stream as AsyncGenerator).return(undefined)
    return undefined
  }
  expect(await by(null)).toBe('UNAUTHENTICATED')
  const needed = scopesOf(field)
  const mayPass = (scope: Scope) =>
    needed === undefined || holdsScopes(caller({ tenantIds: 'all', may: [scope] }), needed)
  const forbidden: Scope[] = []
  for (const scope of scopes) if ((await by([scope])) === 'FORBIDDEN') forbidden.push(scope)
  expect(forbidden).toEqual(scopes.filter((scope) => !mayPass(scope)))
})

function argumentsFor(field: Field): string {
  const needed = field.args.filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
  return needed.length === 0 ? '' : `(${needed.map(({ name, type }) => `${name}: ${valueFor(type)}`).join(', ')})`
}

const scalarValues: Readonly<Record<string, string>> = {
  Int: '1',
  Float: '1',
  Boolean: 'true',
  JSON: '{}',
  DateTime: '"2030-01-01T00:00:00Z"',
  Duration: '"PT1S"',
}

function valueFor(type: GraphQLInputType): string {
  if (isNonNullType(type)) return valueFor(type.ofType)
  if (isListType(type)) return '[]'
  if (isEnumType(type)) return type.getValues()[0]!.name
  if (isScalarType(type)) return scalarValues[type.name] ?? '"x"'
  if (!isInputObjectType(type)) return 'null'
  const inputs = Object.values(type.getFields())
  const needed = type.isOneOf
    ? inputs.filter(({ name }) => name === 'custom' || name === 'at' || name === 'ids')
    : inputs.filter(
        ({ name, type: inner, defaultValue }) => isTenant(name) || (isNonNullType(inner) && defaultValue === undefined),
      )
  return `{ ${needed.map(({ name, type: inner }) => `${name}: ${valueFor(inner)}`).join(', ')} }`
}

/** Without one some mutations concern every tenant, which takes another scope. */
const isTenant = (name: string): boolean => name === 'tenantId' || name === 'tenantIds'

function selectionFor(type: GraphQLOutputType): string {
  const named = getNamedType(type)
  return isObjectType(named) || isInterfaceType(named) ? '{ __typename }' : ''
}
