import {
  getNamedType,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
} from 'graphql'
import { buildSchema } from '../../src/schema/index.ts'
import type { Random } from '../support/random.ts'
import type { RootField } from './root-fields.ts'

/** What random operations name: things of both tenants, so that what is foreign is asked for by its true name. */
export interface Names {
  readonly ids: readonly string[]
  readonly cursors: readonly string[]
  readonly kinds: readonly string[]
  /** Idempotency keys, tags, addresses and the like: asked for, never written. */
  readonly texts: readonly string[]
}

export interface RandomOperation {
  readonly document: string
  /** Every text that it holds: an answer may repeat what was asked. */
  readonly given: readonly string[]
}

const schema = buildSchema()
const deepestInput = 4
const deepestSelection = 3
const mostFields = 100

/**
 * A valid operation with this field at its root, made from the schema: fields that come later are asked for too. `bare`: without
 * arguments that may be left out, and with every id, for who wants to see what there is.
 */
export function randomOperation(
  { operation, name, field }: RootField,
  names: Names,
  random: Random,
  { bare = false } = {},
): RandomOperation {
  const writes = operation === 'mutation'
  const sorts = [...Map.groupBy(names.ids, (each) => /^([a-z]+)_/.exec(each)?.[1] ?? '-')]
  const given: string[] = []
  let left = mostFields
  const chance = (of: number): boolean => random.next() < of

  const text = (value: string): string => {
    given.push(value)
    return JSON.stringify(value)
  }

  /** Of the sort that the field speaks of, as far as it can be told from the names; else of any sort. */
  const id = (argument: string): string => {
    const wanted = `${argument} ${name}`.toLowerCase()
    const told = argument.replace(/Ids?$/, '').toLowerCase()
    const fitting = sorts.filter(([sort]) => wanted.includes(sort) || (told !== 'id' && sort.endsWith(told)))
    const [, ids] = random.pick(fitting.length > 0 && chance(0.8) ? fitting : sorts)
    return random.pick(ids)
  }

  const leaf = (type: string, argument: string): string => {
    if (type === 'ID') return text(id(argument))
    if (type === 'Int' || type === 'SafeInt')
      return String(
        1 + random.below(/^(first|last)$/.test(argument) ? 20 : /^max|burst|weight/.test(argument) ? 50 : 900),
      )
    if (type === 'Float') return String(1 + random.below(20))
    if (type === 'Boolean') return String(chance(0.5))
    if (type === 'Duration') return '"PT1S"'
    if (type === 'DateTime')
      return JSON.stringify(new Date(Date.now() + (random.next() - 0.3) * 864e5 * 2).toISOString())
    if (type === 'JSON') return random.pick(['{}', '{ login: "ada" }'])
    if (argument === 'after' || argument === 'before') return text(random.pick(names.cursors))
    if (/kind/i.test(`${argument} ${argument === 'name' ? name : ''}`)) return text(random.pick(names.kinds))
    if (/address|email/i.test(argument) && writes) return text(`${random.below(1e9)}@example.org`)
    if (writes) return text(`mine-${random.below(1e9)}`)
    const fitting = names.texts.filter((each) => each.includes(argument))
    return text(random.pick(fitting.length > 0 && chance(0.8) ? fitting : names.texts))
  }

  const value = (type: GraphQLInputType, name: string, depth: number): string => {
    if (isNonNullType(type)) return value(type.ofType, name, depth)
    if (isListType(type))
      return `[${Array.from({ length: 1 + random.below(3) }, () => value(type.ofType, name, depth)).join(', ')}]`
    if (isEnumType(type)) return random.pick(type.getValues()).name
    if (!isInputObjectType(type)) return leaf(type.name, name)
    const fields = Object.values(type.getFields())
    const taken = type.isOneOf ? [random.pick(fields)] : fields.filter((each) => isTaken(each, depth))
    return `{ ${taken.map((each) => `${each.name}: ${value(each.type, each.name, depth + 1)}`).join(', ')} }`
  }

  const isTaken = ({ type, defaultValue, default: standard }: GraphQLInputField | GraphQLArgument, depth: number) => {
    const isNeeded = isNonNullType(type) && defaultValue === undefined && standard === undefined
    return isNeeded || (!bare && depth < deepestInput && chance(depth === 0 ? 0.5 : 0.3))
  }

  const argumentsOf = (args: readonly GraphQLArgument[]): string => {
    const taken = args.filter((each) => isTaken(each, 0))
    return taken.length === 0
      ? ''
      : `(${taken.map((each) => `${each.name}: ${value(each.type, each.name, 1)}`).join(', ')})`
  }

  const fieldsOf = (type: GraphQLObjectType, depth: number, prefix: string): string[] =>
    Object.values(type.getFields()).flatMap((each) => {
      const inner = getNamedType(each.type)
      const isLeaf = isLeafType(inner)
      const isKept = bare && (each.name === 'id' || each.name === 'nodes')
      if (left <= 0 || !(isKept || chance(isLeaf ? 0.8 : depth < 2 ? 0.7 : 0.3))) return []
      if (!isLeaf && depth >= deepestSelection) return []
      left -= 1
      const alias = prefix === '' ? '' : `${prefix}_${each.name}: `
      const below = isCompositeType(inner) ? ` ${selection(inner, depth + 1)}` : ''
      return [`${alias}${each.name}${argumentsOf(each.args)}${below}`]
    })

  const selection = (type: GraphQLCompositeType, depth: number): string => {
    // Fields of different types may not share a name: each gets that of its type before it.
    const fields = isAbstractType(type)
      ? schema
          .getPossibleTypes(type)
          .map((each) => `... on ${each.name} { __typename ${fieldsOf(each, depth, each.name).join(' ')} }`)
      : fieldsOf(type, depth, '')
    return `{ __typename ${fields.join(' ')} }`
  }

  const named = getNamedType(field.type)
  const below = isCompositeType(named) ? ` ${selection(named, 0)}` : ''
  return { document: `${operation} { ${name}${argumentsOf(field.args)}${below} }`, given }
}
