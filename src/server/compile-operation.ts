import {
  BREAK,
  coerceInputLiteral,
  defaultFieldResolver,
  GraphQLError,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  locatedError,
  typeFromAST,
  visit,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLLeafType,
  type GraphQLNullableOutputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type NamedTypeNode,
  type OperationDefinitionNode,
} from 'graphql'
import type { Outcome } from './call.ts'
import { defaultOf } from './coerce-input.ts'

type Values = Readonly<Record<string, unknown>>
type Path = GraphQLResolveInfo['path']

/** Runs an operation with its variables, coerced. */
export type RunOperation = (variables: Values, context: unknown) => Promise<Outcome>

/** What all operations of a document have in common. */
interface Plan {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
}

/** One operation under way. */
interface Run {
  readonly plan: Plan
  readonly variables: Values
  readonly context: unknown
  readonly errors: GraphQLError[]
}

/** A field as it is asked for at one place; `nodes` are several where the document says it twice. */
interface Field {
  readonly key: string
  readonly name: string
  readonly nodes: readonly [FieldNode, ...FieldNode[]]
  readonly parent: GraphQLObjectType
  readonly type: GraphQLOutputType
  readonly resolve: GraphQLFieldResolver<unknown, unknown>
  readonly argumentsFrom: (variables: Values) => Record<string, unknown>
  readonly complete: Complete
}

/** Makes of what a resolver returned what is sent. Throws, or rejects, where it is not of its type. */
type Complete = (run: Run, value: unknown, path: Path, info: Info) => unknown

/**
 * An executor of one operation: what it asks for is looked up once. A general executor remembers that for each operation under way, in weak
 * maps that V8 keeps through every collection of young objects, so that one took 7 ms instead of 1: token, checks, GraphQL and collections
 * of a mutation were 24 us and are 12. Null where it must be a general one: a directive stands in the document, whose value may differ with
 * each call, or the schema tells types in another way than by `resolveType`. Wants a valid document, and in it no variable inside of a list
 * or an object.
 */
export function compileOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): RunOperation | null {
  const root = schema.getRootType(operation.operation)
  if (root == null || operation.operation === 'subscription' || hasDirectives(document) || !resolvesTypes(schema))
    return null
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null) as {}
  for (const each of document.definitions) if (each.kind === Kind.FRAGMENT_DEFINITION) fragments[each.name.value] = each
  const plan: Plan = { schema, operation, fragments }
  const fields = compileFields(plan, root, [operation])
  const runRoot = operation.operation === 'mutation' ? runOneByOne : runFields

  return async (variables, context) => {
    const run: Run = { plan, variables, context, errors: [] }
    const { errors } = run
    let data: unknown = null
    try {
      data = await runRoot(run, fields, undefined, undefined)
    } catch (error) {
      errors.push(error as GraphQLError)
    }
    return errors.length === 0 ? { data } : { errors, data }
  }
}

function hasDirectives(document: DocumentNode): boolean {
  let found = false
  visit(document, {
    Directive() {
      found = true
      return BREAK
    },
  })
  return found
}

const resolvesTypes = (schema: GraphQLSchema): boolean =>
  Object.values(schema.getTypeMap()).every(
    (type) =>
      (!isObjectType(type) || type.isTypeOf == null) &&
      (!isAbstractType(type) || typeof type.resolveType === 'function'),
  )

interface Selecting {
  readonly selectionSet?: FieldNode['selectionSet']
}

/** The fields that these selections ask of a type, those of fragments among them, in the order of the document. */
function compileFields(plan: Plan, type: GraphQLObjectType, from: readonly Selecting[]): readonly Field[] {
  const found = new Map<string, FieldNode[]>()
  const spread = new Set<string>()
  const collect = ({ selectionSet }: Selecting): void => {
    for (const selection of selectionSet?.selections ?? []) {
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value
        const nodes = found.get(key)
        if (nodes === undefined) found.set(key, [selection])
        else nodes.push(selection)
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        if (isOf(plan, type, selection.typeCondition)) collect(selection)
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value)
        const fragment = plan.fragments[selection.name.value]!
        if (isOf(plan, type, fragment.typeCondition)) collect(fragment)
      }
    }
  }
  from.forEach(collect)
  return [...found].map(([key, nodes]) => compileField(plan, type, key, nodes as [FieldNode]))
}

function isOf({ schema }: Plan, type: GraphQLObjectType, condition: NamedTypeNode | undefined): boolean {
  const wanted = condition === undefined ? type : typeFromAST(schema, condition)
  return wanted === type || (isAbstractType(wanted) && schema.isSubType(wanted, type))
}

function compileField(
  plan: Plan,
  parent: GraphQLObjectType,
  key: string,
  nodes: readonly [FieldNode, ...FieldNode[]],
): Field {
  const [node] = nodes
  const field = plan.schema.getField(parent, node.name.value)!
  return {
    key,
    name: field.name,
    nodes,
    parent,
    type: field.type,
    resolve: field.resolve ?? defaultFieldResolver,
    argumentsFrom: compileArguments(field, node),
    complete: compileType(plan, field.type, nodes),
  }
}

/** Those that hang on no variable are read once. */
function compileArguments({ args }: GraphQLField<unknown, unknown>, node: FieldNode): Field['argumentsFrom'] {
  const constant: Record<string, unknown> = {}
  const varying: { name: string; variable: string; standard: unknown; refuseNull: () => void }[] = []
  for (const argument of args) {
    const { name, type } = argument
    const value = node.arguments?.find((each) => each.name.value === name)?.value
    const given =
      value === undefined || value.kind === Kind.VARIABLE ? defaultOf(argument) : coerceInputLiteral(value, type)
    if (value?.kind !== Kind.VARIABLE) {
      if (given !== undefined) constant[name] = given
      continue
    }
    const refuseNull = (): void => {
      if (isNonNullType(type))
        throw new GraphQLError(`Argument "${name}" of non-null type "${String(type)}" must not be null.`, {
          nodes: [value],
        })
    }
    varying.push({ name, variable: value.name.value, standard: given, refuseNull })
  }
  if (varying.length === 0) return () => constant
  return (variables) => {
    const all = { ...constant }
    for (const { name, variable, standard, refuseNull } of varying) {
      const value = Object.hasOwn(variables, variable) ? variables[variable] : standard
      if (value === null) refuseNull()
      if (value !== undefined) all[name] = value
    }
    return all
  }
}

function compileType(plan: Plan, type: GraphQLOutputType, nodes: Field['nodes']): Complete {
  if (!isNonNullType(type)) return orNull(compileNullable(plan, type, nodes))
  const complete = orNull(compileNullable(plan, type.ofType, nodes))
  return (run, value, path, info) => {
    const completed = complete(run, value, path, info)
    if (completed !== null) return completed
    throw new Error(`Cannot return null for non-nullable field ${info.parentType.name}.${info.fieldName}.`)
  }
}

function orNull(complete: Complete): Complete {
  return (run, value, path, info) => {
    if (value instanceof Error) throw value
    return value === null || value === undefined ? null : complete(run, value, path, info)
  }
}

function compileNullable(plan: Plan, type: GraphQLNullableOutputType, nodes: Field['nodes']): Complete {
  if (isListType(type)) return listOf(type.ofType, compileType(plan, type.ofType, nodes), nodes)
  if (isLeafType(type)) return (_, value) => serialize(type, value)
  if (isAbstractType(type)) return oneOf(plan, type, nodes)
  let fields: readonly Field[] | undefined
  // Not before it is needed: a type may hold itself, at the end of a long document.
  return (run, value, path) => runFields(run, (fields ??= compileFields(plan, type, nodes)), value, path)
}

/** A GraphQLError would speak of the caller's input; it is the answer that is wrong. */
function serialize(type: GraphQLLeafType, value: unknown): unknown {
  let serialized: unknown
  try {
    serialized = type.serialize(value)
  } catch (error) {
    throw error instanceof GraphQLError ? new Error(error.message, { cause: error.cause }) : error
  }
  if (serialized !== null && serialized !== undefined) return serialized
  throw new Error(`Expected \`${String(type)}.serialize()\` to return a non-nullable value.`)
}

function listOf(type: GraphQLOutputType, complete: Complete, nodes: Field['nodes']): Complete {
  return (run, value, path, info) => {
    if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
      throw new Error(`Expected a list for field "${info.parentType.name}.${info.fieldName}".`)
    const completed: unknown[] = []
    let waits = false
    for (const item of value as Iterable<unknown>) {
      const at: Path = { prev: path, key: completed.length, typename: undefined }
      const one = settle(run, { type, complete, nodes }, item, at, info)
      waits ||= isPromise(one)
      completed.push(one)
    }
    return waits ? Promise.all(completed) : completed
  }
}

function oneOf(plan: Plan, type: GraphQLAbstractType, nodes: Field['nodes']): Complete {
  const known = new Map<string, readonly Field[]>()
  const fieldsOf = (name: string | undefined): readonly Field[] => {
    let fields = known.get(name!)
    if (fields !== undefined) return fields
    const actual = plan.schema.getType(name ?? '')
    if (!isObjectType(actual) || !plan.schema.isSubType(type, actual))
      throw new Error(`"${name}" is no type of "${type.name}".`)
    known.set(name!, (fields = compileFields(plan, actual, nodes)))
    return fields
  }
  return (run, value, path, info) => {
    const name = type.resolveType!(value, run.context, info, type)
    return isPromise(name)
      ? name.then((resolved) => runFields(run, fieldsOf(resolved), value, path))
      : runFields(run, fieldsOf(name as string | undefined), value, path)
  }
}

/** No prototype that a key could meet, and to V8 no hash table either. */
const noPrototype: object = Object.freeze(Object.create(null))

function runFields(run: Run, fields: readonly Field[], source: unknown, path: Path | undefined): unknown {
  const answer = Object.create(noPrototype) as Record<string, unknown>
  const waiting: PromiseLike<unknown>[] = []
  try {
    for (const field of fields) {
      const value = runField(run, field, source, path)
      // At once, so that it stands in its place.
      answer[field.key] = value
      if (isPromise(value)) waiting.push(value.then((later) => (answer[field.key] = later)))
    }
  } catch (error) {
    if (waiting.length === 0) throw error
    return Promise.allSettled(waiting).then(() => Promise.reject(error as Error))
  }
  return waiting.length === 0 ? answer : Promise.all(waiting).then(() => answer)
}

/** Changes are made one after the other. */
async function runOneByOne(
  run: Run,
  fields: readonly Field[],
  source: unknown,
  path: Path | undefined,
): Promise<unknown> {
  const answer = Object.create(noPrototype) as Record<string, unknown>
  for (const field of fields) answer[field.key] = await runField(run, field, source, path)
  return answer
}

function runField(run: Run, field: Field, source: unknown, above: Path | undefined): unknown {
  const path: Path = { prev: above, key: field.key, typename: field.parent.name }
  const info = new Info(run, field, path)
  let value: unknown
  try {
    value = field.resolve(source, field.argumentsFrom(run.variables), run.context, info)
  } catch (error) {
    return fault(run, field, path, error)
  }
  return settle(run, field, value, path, info)
}

type Place = Pick<Field, 'type' | 'nodes' | 'complete'>

/** Completes a value or the promise of one at a place where an error may end: a field, or an item of a list. */
function settle(run: Run, place: Place, value: unknown, path: Path, info: Info): unknown {
  const fail = (error: unknown): null => fault(run, place, path, error)
  const complete = (resolved: unknown): unknown => {
    try {
      const completed = place.complete(run, resolved, path, info)
      return isPromise(completed) ? completed.then(undefined, fail) : completed
    } catch (error) {
      return fail(error)
    }
  }
  return isPromise(value) ? value.then(complete, fail) : complete(value)
}

/** Where null may stand it does, and the error is told; else what holds it is null. */
function fault(run: Run, { type, nodes }: Omit<Place, 'complete'>, path: Path, error: unknown): null {
  const located = locatedError(error, nodes, listOfKeys(path))
  if (isNonNullType(type)) throw located
  run.errors.push(located)
  return null
}

function listOfKeys(path: Path): (string | number)[] {
  const keys: (string | number)[] = []
  for (let at: Path | undefined = path; at !== undefined; at = at.prev) keys.unshift(at.key)
  return keys
}

const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** What few resolvers ask for, and those little of it. */
class Info implements GraphQLResolveInfo {
  readonly #run: Run
  readonly #field: Field
  readonly path: Path

  constructor(run: Run, field: Field, path: Path) {
    this.#run = run
    this.#field = field
    this.path = path
  }

  get fieldName() {
    return this.#field.name
  }
  get fieldNodes() {
    return this.#field.nodes
  }
  get returnType() {
    return this.#field.type
  }
  get parentType() {
    return this.#field.parent
  }
  get schema() {
    return this.#run.plan.schema
  }
  get fragments() {
    return this.#run.plan.fragments
  }
  get rootValue() {
    return undefined
  }
  get operation() {
    return this.#run.plan.operation
  }
  get variableValues() {
    return { sources: {}, coerced: this.#run.variables }
  }
  getAbortSignal() {
    return undefined
  }
  getAsyncHelpers() {
    return { promiseAll: Promise.all.bind(Promise), track: () => {} } as ReturnType<
      GraphQLResolveInfo['getAsyncHelpers']
    >
  }
}
