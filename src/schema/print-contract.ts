import {
  Kind,
  parse,
  print,
  printSchema,
  valueToLiteral,
  visit,
  type ConstDirectiveNode,
  type DirectiveNode,
  type GraphQLSchema,
} from 'graphql'

type AppliedDirectives = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

/**
 * The schema as SDL with the directives applied to its fields, which graphql-js leaves out. (printSchemaWithDirectives of
 * @graphql-tools/utils 13 leaves out all default values with graphql 17, and writes enum values as strings.)
 */
export function printContract(schema: GraphQLSchema): string {
  const applied = appliedDirectives(schema)
  let type = ''
  const document = visit(parse(printSchema(schema), { noLocation: true }), {
    ObjectTypeDefinition: { enter: ({ name }) => void (type = name.value) },
    InterfaceTypeDefinition: { enter: ({ name }) => void (type = name.value) },
    FieldDefinition: (field) => {
      const directives = applied.get(`${type}.${field.name.value}`)
      return directives === undefined ? undefined : { ...field, directives }
    },
  })
  return `${print(document)}\n`
}

function appliedDirectives(schema: GraphQLSchema): Map<string, readonly ConstDirectiveNode[]> {
  const found = new Map<string, readonly ConstDirectiveNode[]>()
  for (const type of Object.values(schema.getTypeMap())) {
    if (!('getFields' in type)) continue
    for (const field of Object.values(type.getFields())) {
      const directives = (field.extensions['directives'] ?? {}) as AppliedDirectives
      const nodes = Object.entries(directives).flatMap(([name, uses]) =>
        [uses].flat().map((args) => directiveNode(schema, name, args)),
      )
      if (nodes.length > 0) found.set(`${type.name}.${field.name}`, nodes)
    }
  }
  return found
}

function directiveNode(
  schema: GraphQLSchema,
  name: string,
  args: Readonly<Record<string, unknown>>,
): ConstDirectiveNode {
  const definition = schema.getDirective(name)
  if (definition == null) throw new Error(`The schema does not define the directive @${name}.`)
  const node: DirectiveNode = {
    kind: Kind.DIRECTIVE,
    name: { kind: Kind.NAME, value: name },
    arguments: definition.args.flatMap((arg) => {
      const value = args[arg.name] === undefined ? undefined : valueToLiteral(args[arg.name], arg.type)
      return value === undefined ? [] : [{ kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: arg.name }, value }]
    }),
  }
  return node as ConstDirectiveNode
}
