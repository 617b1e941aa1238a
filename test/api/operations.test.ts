import { readFileSync } from 'node:fs'
import { Kind, parse, validate, visit, type DocumentNode, type OperationDefinitionNode } from 'graphql'
import { expect, test } from 'vitest'
import { buildSchema } from '../../src/schema/index.ts'

const schema = buildSchema()
const document = parse(readFileSync(new URL('../../src/server/preset-operations.graphql', import.meta.url), 'utf8'))
const operations = document.definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION)

/** Operations that ask for something that is not served yet. What comes has to be taken out here; nothing may be added. */
const notYet: readonly string[] = []

test('the operations that clients use are valid', () => {
  const invalid = operations.filter((operation) => validate(schema, alone(operation)).length > 0)
  expect(invalid.map(({ name }) => name?.value)).toEqual(notYet)
})

/** The operation with the fragments that it uses: others would count as unused. */
function alone(operation: OperationDefinitionNode): DocumentNode {
  const used = new Set<string>()
  visit(operation, { FragmentSpread: ({ name }) => void used.add(name.value) })
  const fragments = document.definitions.filter(
    (each) => each.kind === Kind.FRAGMENT_DEFINITION && used.has(each.name.value),
  )
  return { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] }
}
