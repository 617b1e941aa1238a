import { readFileSync } from 'node:fs'
import {
  Kind,
  parse,
  print,
  validate,
  visit,
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql'

/** An operation that GraphiQL offers. */
export interface PresetTab {
  /** What it is for, as a comment, and the operation with the fragments that it uses. */
  readonly query: string
  /** A JSON object; null where it takes no variables. */
  readonly variables: string | null
}

/** The operations of preset-operations.graphql, in their order: those that this schema can answer. */
export function presetTabs(schema: GraphQLSchema): PresetTab[] {
  const text = readFileSync(new URL('preset-operations.graphql', import.meta.url), 'utf8')
  const { definitions } = parse(text)
  return definitions.flatMap((definition, index) => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return []
    const document = alone(definition, definitions)
    if (validate(schema, document).length > 0) return []
    const above = text.slice(definitions[index - 1]?.loc?.end ?? 0, definition.loc!.start)
    return [{ query: `${purposeIn(above)}${print(document)}\n`, variables: variablesIn(above) }]
  })
}

/** The operation with the fragments that it uses: others would count as unused. */
function alone(operation: OperationDefinitionNode, definitions: readonly DefinitionNode[]): DocumentNode {
  const used = new Set<string>()
  const note = (node: DefinitionNode): void => {
    visit(node, {
      FragmentSpread({ name }) {
        if (used.has(name.value)) return
        used.add(name.value)
        definitions
          .filter((each) => each.kind === Kind.FRAGMENT_DEFINITION && each.name.value === name.value)
          .forEach(note)
      },
    })
  }
  note(operation)
  const fragments = definitions.filter((each) => each.kind === Kind.FRAGMENT_DEFINITION && used.has(each.name.value))
  return { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] }
}

/** The last comment above an operation. */
function purposeIn(above: string): string {
  const purpose = above.split('\n').findLast((line) => line.startsWith('# ') && !line.startsWith('# variables '))
  return purpose === undefined ? '' : `${purpose}\n`
}

function variablesIn(above: string): string | null {
  const [, variables] = /^# variables (.+)$/m.exec(above) ?? []
  return variables === undefined ? null : JSON.stringify(JSON.parse(variables), null, 2)
}
