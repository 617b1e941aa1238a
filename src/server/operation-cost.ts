import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isCompositeType,
  isListType,
  Kind,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'

type Variables = Readonly<Record<string, unknown>>
/** A part of an operation that costs the same whatever its variables are is a number. */
type Cost = number | ((variables: Variables) => number)

/** How much an operation costs with these values of its variables, in points. */
export type OperationCost = (variables: Variables) => number

interface Weight {
  readonly weight: string
}

interface ListSize {
  readonly assumedSize?: number
  readonly slicingArguments?: readonly string[]
}

/**
 * What `@cost` and `@listSize` say, as the schema keeps them. `itemsOf`: the list `field` of the answer has an item for each
 * one of the list at `path` in `argument`.
 */
interface FieldPrice {
  readonly directives?: { readonly cost?: readonly [Weight]; readonly listSize?: readonly [ListSize] }
  readonly itemsOf?: { readonly argument: string; readonly path: readonly string[]; readonly field: string }
}

/** How many items some lists of an object hold. */
interface ListSizes {
  readonly fields: readonly string[]
  readonly size: Cost
}

interface Operation {
  readonly schema: GraphQLSchema
  readonly definition: OperationDefinitionNode
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

/**
 * The price of an operation, read once: each field adds its `@cost`, else 1 for an object and 0 for a scalar; what lies below a
 * list counts once for each item that may come. Wants a valid document.
 */
export function priceOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  definition: OperationDefinitionNode,
): OperationCost {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of document.definitions) {
    if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each)
  }
  const root = schema.getRootType(definition.operation)
  const operation: Operation = { schema, definition, fragments }
  const cost = root == null ? 0 : costOfSelections(operation, root, definition.selectionSet, undefined)
  // Even the smallest one is work.
  return typeof cost === 'number' ? () => Math.max(cost, 1) : (variables) => Math.max(cost(variables), 1)
}

/** Of an interface or union the dearest type: an object is only one of them. */
function costOfSelections(
  operation: Operation,
  type: GraphQLCompositeType,
  selections: SelectionSetNode,
  sizes: ListSizes | undefined,
): Cost {
  if (!isAbstractType(type)) return costOfObject(operation, type, selections, sizes)
  const each = operation.schema
    .getPossibleTypes(type)
    .map((possible) => costOfObject(operation, possible, selections, sizes))
  return combine(each, (...costs) => Math.max(0, ...costs))
}

function costOfObject(
  operation: Operation,
  type: GraphQLCompositeType,
  { selections }: SelectionSetNode,
  sizes: ListSizes | undefined,
): Cost {
  const { schema, fragments } = operation
  const isOf = (name: string | undefined): boolean => {
    const condition = name === undefined ? type : schema.getType(name)
    return (
      condition === type ||
      (isAbstractType(condition) && schema.getPossibleTypes(condition).some((one) => one === type))
    )
  }
  const costs = selections.map((selection): Cost => {
    let cost: Cost = 0
    if (selection.kind === Kind.FIELD) {
      const field = schema.getField(type, selection.name.value)
      if (field !== undefined) cost = costOfField(operation, field, selection, sizes)
    } else {
      const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value)
      if (fragment !== undefined && isOf(fragment.typeCondition?.name.value)) {
        cost = costOfObject(operation, type, fragment.selectionSet, sizes)
      }
    }
    return ifIncluded(operation, selection.directives ?? [], cost)
  })
  return combine(costs, (...all) => all.reduce((sum, one) => sum + one, 0))
}

/** The size of a page belongs to the lists of the page (`nodes`, `edges`), not to what else it holds. */
function costOfField(
  operation: Operation,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  sizes: ListSizes | undefined,
): Cost {
  const { directives, itemsOf } = field.extensions as FieldPrice
  const [price] = directives?.cost ?? []
  const [listSize] = directives?.listSize ?? []
  const type = getNamedType(field.type)
  const isList = isListType(getNullableType(field.type))
  const size = listSize && slicedSize(operation, field, node, listSize)
  const sizesBelow =
    itemsOf !== undefined
      ? { fields: [itemsOf.field], size: lengthAt(operation, field, node, itemsOf) }
      : size !== undefined && !isList
        ? { fields: ['nodes', 'edges'], size }
        : undefined
  const weight = price === undefined ? (isCompositeType(type) ? 1 : 0) : Number(price.weight)
  const below =
    isCompositeType(type) && node.selectionSet !== undefined
      ? costOfSelections(operation, type, node.selectionSet, sizesBelow)
      : 0
  if (!isList) return combine([below], (one) => weight + one)
  const items = size ?? (sizes?.fields.includes(field.name) === true ? sizes.size : 1)
  // A price of its own is that of the whole list: the query behind it runs once.
  if (price !== undefined) return combine([items, below], (many, one) => weight + many * (1 + one))
  return combine([items, below], (many, one) => many * (weight + one))
}

/** The largest of the slicing arguments that are given, else the size to be assumed. */
function slicedSize(
  operation: Operation,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  { slicingArguments = [], assumedSize = 1 }: ListSize,
): Cost {
  const sizes = slicingArguments.map((name) => mapValue(argumentOf(operation, field, node, name), sizeIn))
  return combine(sizes, (...given) => {
    const known = given.filter((size) => size >= 0)
    return known.length === 0 ? assumedSize : Math.max(...known)
  })
}

/** A number of items, or the items; below zero: not given. */
function sizeIn(value: unknown): number {
  if (Array.isArray(value)) return value.length
  if (value === undefined || value === null) return -1
  return typeof value === 'number' && value >= 0 ? value : 0
}

function lengthAt(
  operation: Operation,
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  { argument, path }: NonNullable<FieldPrice['itemsOf']>,
): Cost {
  return mapValue(argumentOf(operation, field, node, argument), (value) => {
    const found = path.reduce<unknown>(
      (within, name) => (typeof within === 'object' && within !== null ? (within as Variables)[name] : undefined),
      value,
    )
    // One item instead of a list is a list of one.
    return Array.isArray(found) ? found.length : 1
  })
}

/** A value that may hang on variables. */
type Given = { readonly value: unknown } | { readonly of: (variables: Variables) => unknown }

function argumentOf(operation: Operation, field: GraphQLField<unknown, unknown>, node: FieldNode, name: string): Given {
  const given = node.arguments?.find((each) => each.name.value === name)?.value
  const standard = field.args.find((each) => each.name === name)
  const fallback = standard?.default?.value ?? standard?.defaultValue
  if (given === undefined) return { value: fallback }
  const read = readValue(operation, given)
  return 'value' in read ? read : { of: (variables) => read.of(variables) ?? fallback }
}

/** Reads what a document says; only as much of it as sizes and conditions are made of. */
function readValue(operation: Operation, node: ValueNode): Given {
  switch (node.kind) {
    case Kind.VARIABLE: {
      const name = node.name.value
      const declared = operation.definition.variableDefinitions?.find(({ variable }) => variable.name.value === name)
      const standard = declared?.defaultValue === undefined ? undefined : readValue(operation, declared.defaultValue)
      const fallback = standard !== undefined && 'value' in standard ? standard.value : undefined
      return { of: (variables) => (variables[name] === undefined ? fallback : variables[name]) }
    }
    case Kind.INT:
    case Kind.FLOAT:
      return { value: Number(node.value) }
    case Kind.STRING:
    case Kind.ENUM:
    case Kind.BOOLEAN:
      return { value: node.value }
    case Kind.NULL:
      return { value: null }
    case Kind.LIST:
      return { value: Array.from({ length: node.values.length }) }
    case Kind.OBJECT: {
      const fields = node.fields.map(({ name, value }) => [name.value, readValue(operation, value)] as const)
      return {
        of: (variables) =>
          Object.fromEntries(
            fields.map(([name, given]) => [name, 'value' in given ? given.value : given.of(variables)]),
          ),
      }
    }
  }
}

function mapValue(given: Given, map: (value: unknown) => number): Cost {
  return 'value' in given ? map(given.value) : (variables) => map(given.of(variables))
}

function ifIncluded(operation: Operation, directives: readonly DirectiveNode[], cost: Cost): Cost {
  return directives.reduce<Cost>((sum, { name, arguments: args }) => {
    const condition = args?.find((each) => each.name.value === 'if')?.value
    if (condition === undefined || !['skip', 'include'].includes(name.value)) return sum
    const wanted = name.value === 'include'
    const holds = mapValue(readValue(operation, condition), (value) => (value === wanted ? 1 : 0))
    return combine([holds, sum], (one, other) => one * other)
  }, cost)
}

function combine(costs: readonly Cost[], how: (...costs: number[]) => number): Cost {
  if (costs.every((cost) => typeof cost === 'number')) return how(...costs)
  return (variables) => how(...costs.map((cost) => (typeof cost === 'number' ? cost : cost(variables))))
}
