import { readFileSync } from 'node:fs'
import {
  buildSchema as schemaOf,
  parse,
  print,
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type GraphQLScalarType,
  type GraphQLSchema,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { buildSchema } from '../../src/schema/index.ts'
import { printContract } from '../../src/schema/print-contract.ts'

/** The names, arguments, nullability and directives that clients rely on. */
const contract = read(readFileSync(new URL('contract.graphql', import.meta.url), 'utf8'))
const built = buildSchema()
const printed = printContract(built)
const ours = read(printed)

/** Root fields of the contract that are not served yet. What comes has to be taken out here; nothing may be added. */
const missing: readonly string[] = []
/** The same for fields of types that are there already. */
const missingFields: readonly string[] = []

/** What is served beyond the contract. */
const additions: readonly string[] = [
  'AuditEntry.streamCursor',
  'CreateWebhookEndpointInput.notifyEmail',
  'Import.warning',
  'UpdateWebhookEndpointInput.notifyEmail',
  'WebhookDelivery.payloadText',
  'WebhookEndpoint.notifyEmail',
]

test('JSON takes values as they are: variables that are coerced beforehand are declared as it', () => {
  const { coerceInputValue } = built.getType('JSON') as GraphQLScalarType
  for (const value of [{ a: [1, { b: null }] }, [1], 'text', 0, null]) expect(coerceInputValue(value)).toBe(value)
})

describe('the schema keeps the contract', () => {
  const roots = ['Query.', 'Mutation.', 'Subscription.']
  const isRoot = (name: string) => roots.some((root) => name.startsWith(root))
  const typeOf = (name: string) => name.split('.')[0]!
  const typesHere = new Set([...ours.keys()].map(typeOf))

  test('what is here is what the contract says', () => {
    const wrong = [...ours]
      .filter(([name, text]) => contract.get(name) !== text && !additions.includes(name))
      .map(([name, text]) => ({ name, text, contract: contract.get(name) ?? null }))
    expect(wrong).toEqual([])
  })
  test('the root fields that are missing are known', () => {
    expect([...contract.keys()].filter((name) => isRoot(name) && !ours.has(name))).toEqual(missing)
  })
  test('the other fields that are missing are known', () => {
    const found = [...contract.keys()].filter((name) => !isRoot(name) && !ours.has(name) && typesHere.has(typeOf(name)))
    expect(found.toSorted()).toEqual(missingFields.toSorted())
  })
  test('every type, field, argument and value has a description', () => {
    expect(undescribed(built)).toEqual([])
  })
  test('schema.graphql is what the code says', () => {
    const committed = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')
    expect(committed, 'run `node scripts/print-schema.ts`').toBe(printed)
  })
  test('the contract is a schema', () => {
    expect(() => schemaOf(readFileSync(new URL('contract.graphql', import.meta.url), 'utf8'))).not.toThrow()
  })
})

/** `Type` and `Type.field` to what can be said of them in one line: kind, type, arguments, defaults, directives. */
function read(sdl: string): Map<string, string> {
  const known = new Map<string, string>()
  const document: DocumentNode = parse(sdl, { noLocation: true })
  for (const node of document.definitions) {
    if (!('name' in node) || node.name === undefined) continue
    const name = node.name.value
    if (node.kind === 'DirectiveDefinition') {
      known.set(`@${name}`, print({ ...node, description: undefined }).replaceAll(/\s+/g, ' '))
      continue
    }
    const interfaces = 'interfaces' in node ? node.interfaces?.map((each) => each.name.value).toSorted() : []
    known.set(
      name,
      [node.kind, ...(interfaces ?? []), ...directives('directives' in node ? node.directives : [])].join(' '),
    )
    if ('values' in node) for (const value of node.values ?? []) known.set(`${name}.${value.name.value}`, 'value')
    if (!('fields' in node)) continue
    for (const field of node.fields ?? []) {
      const args =
        'arguments' in field
          ? (field.arguments ?? []).map((arg) => `${arg.name.value}: ${print(arg.type)}${standard(arg)}`)
          : []
      const parts = [
        args.join(', '),
        `${print(field.type)}${'defaultValue' in field ? standard(field) : ''}`,
        ...directives(field.directives),
      ]
      known.set(`${name}.${field.name.value}`, parts.join(' | '))
    }
  }
  return known
}

function standard({ defaultValue }: { readonly defaultValue?: Parameters<typeof print>[0] | undefined }): string {
  return defaultValue === undefined ? '' : ` = ${print(defaultValue).replaceAll(/\s+/g, ' ')}`
}

function directives(nodes: readonly DirectiveNode[] | undefined): string[] {
  const argument = (arg: ArgumentNode) => `${arg.name.value}: ${print(arg.value)}`
  return (nodes ?? [])
    .map((node) => `@${node.name.value}(${(node.arguments ?? []).map(argument).toSorted().join(', ')})`)
    .toSorted()
}

function undescribed(schema: GraphQLSchema): string[] {
  const sdl = parse(printContract(schema), { noLocation: true })
  return sdl.definitions.flatMap((node) => {
    if (!('name' in node) || node.name === undefined || !('description' in node)) return []
    const name = node.name.value
    const parts = 'fields' in node ? (node.fields ?? []) : 'values' in node ? (node.values ?? []) : []
    return [
      ...(node.description === undefined ? [name] : []),
      ...parts.flatMap((part) => (part.description === undefined ? [`${name}.${part.name.value}`] : [])),
    ]
  })
}
