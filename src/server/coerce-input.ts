import {
  coerceInputLiteral,
  coerceInputValue,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNullableInputType,
} from 'graphql'

/** What GraphQL's `coerceInputValue` makes of a value that came as JSON; undefined: it is not as it must be. */
export type Coerce = (value: unknown) => unknown

/**
 * Reads a type once, where `coerceInputValue` asks for each value what its type is. Its objects without a prototype are hash tables
 * to V8, which took as long again: these have an empty one.
 */
export function compileInput(type: GraphQLInputType): Coerce {
  if (isNonNullType(type)) {
    const coerce = compileInput(type.ofType)
    return (value) => (value === null ? undefined : coerce(value))
  }
  const coerce = compileNamed(type)
  return (value) => (value === null ? null : coerce(value))
}

/** The default of a field or an argument, coerced; undefined: it has none. */
export function defaultOf({ type, default: given, defaultValue }: GraphQLInputField | GraphQLArgument): unknown {
  if (given === undefined) return defaultValue
  return given.literal === undefined ? coerceInputValue(given.value, type) : coerceInputLiteral(given.literal, type)
}

/** A schema has each of them once. */
const known = new WeakMap<GraphQLInputObjectType, Coerce>()

function compileNamed(type: GraphQLNullableInputType): Coerce {
  if (isListType(type)) return listOf(compileInput(type.ofType))
  if (!isInputObjectType(type)) {
    return (value) => {
      try {
        return type.coerceInputValue(value)
      } catch {
        return undefined
      }
    }
  }
  const found = known.get(type)
  if (found !== undefined) return found
  // A type may hold itself.
  known.set(type, (value) => coerce(value))
  const coerce = compileObject(type)
  known.set(type, coerce)
  return coerce
}

/** One item instead of a list is a list of one. */
function listOf(coerce: Coerce): Coerce {
  return (value) => {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    const coerced: unknown[] = []
    for (const item of items) {
      const one = coerce(item)
      if (one === undefined) return undefined
      coerced.push(one)
    }
    return coerced
  }
}

const noPrototype: object = Object.freeze(Object.create(null))

function compileObject(type: GraphQLInputObjectType): Coerce {
  const fields = Object.values(type.getFields()).map((field) => ({
    name: field.name,
    coerce: compileInput(field.type),
    required: isRequiredInputField(field),
    standard: defaultOf(field),
  }))
  return (value) => {
    if (typeof value !== 'object' || Array.isArray(value)) return undefined
    const given = value as Readonly<Record<string, unknown>>
    const coerced = Object.create(noPrototype) as Record<string, unknown>
    let found = 0
    for (const { name, coerce, required, standard } of fields) {
      if (!Object.hasOwn(given, name)) {
        if (required) return undefined
        if (standard !== undefined) coerced[name] = standard
        continue
      }
      const one = coerce(given[name])
      if (one === undefined || (type.isOneOf && one === null)) return undefined
      coerced[name] = one
      found += 1
    }
    const isWhole = found === Object.keys(given).length && (!type.isOneOf || found === 1)
    return isWhole ? coerced : undefined
  }
}
