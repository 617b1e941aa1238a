import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
} from 'graphql'
import type { Caller } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { codeOf, type TestApi } from './support.ts'

type Field = GraphQLField<unknown, unknown>

/** A field that operations begin with. */
export interface RootField {
  readonly operation: 'query' | 'mutation' | 'subscription'
  readonly name: string
  readonly field: Field
}

const schema = buildSchema()
const roots = [
  ['query', schema.getQueryType()!],
  ['mutation', schema.getMutationType()!],
  ['subscription', schema.getSubscriptionType()!],
] as const

export const rootFields: readonly RootField[] = roots.flatMap(([operation, type]) =>
  Object.values(type.getFields()).map((field) => ({ operation, name: field.name, field })),
)

/** Asks for a root field with the least that it takes: the code of the top-level error, undefined where the caller gets in. */
export async function outcomeOf(api: TestApi, { operation, name, field }: RootField, who: Caller | null) {
  const document = `${operation} { ${name}${argumentsFor(field)} ${selectionFor(field.type)} }`
  if (operation !== 'subscription') return codeOf(await api.run(document, {}, who))
  const stream = await api.subscribe(document, {}, who as never)
  if ('errors' in stream) return codeOf({ data: null, errors: stream.errors! })
  await (stream as AsyncGenerator).return(undefined)
  return undefined
}

function argumentsFor(field: Field): string {
  const needed = field.args.filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
  return needed.length === 0 ? '' : `(${needed.map(({ name, type }) => `${name}: ${valueFor(type)}`).join(', ')})`
}

const scalarValues: Readonly<Record<string, string>> = {
  Int: '1',
  SafeInt: '1',
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
