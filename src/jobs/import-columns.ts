import { FileRefused } from './import-errors.ts'
import { externalKeyTargets, importLimits, type ImportOptions } from './import-options.ts'

/** An attribute of the entity type. */
export interface ImportAttribute {
  readonly key: string
  readonly required: boolean
}

/** Where the values of a column go. */
export type ColumnTarget = { readonly attribute: string } | 'externalKey' | null

/** A column of the file; `target` null: left out. */
export interface ImportColumn {
  readonly name: string
  readonly target: ColumnTarget
}

type Order = Pick<ImportOptions, 'mapping' | 'mode'>

const isExternalKey = (name: string): boolean => (externalKeyTargets as readonly string[]).includes(name)
const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/** Finds the target of a column name; undefined: there is none. */
export function createColumnFinder(
  attributes: readonly ImportAttribute[],
  { mapping }: Pick<Order, 'mapping'>,
): (name: string) => ColumnTarget | undefined {
  const keys = new Set(attributes.map(({ key }) => key))
  const folded = Map.groupBy(keys, (key) => key.toLowerCase())
  const given = new Map(Object.entries(mapping).map(([name, target]) => [name.trim(), target]))
  const targetOf = (name: string): ColumnTarget | undefined => {
    if (keys.has(name)) return { attribute: name }
    if (isExternalKey(name)) return 'externalKey'
    const [only, ...others] = folded.get(name.toLowerCase()) ?? []
    return only === undefined || others.length > 0 ? undefined : { attribute: only }
  }
  return (name) => {
    const target = given.get(name)
    return target === null ? null : targetOf(target ?? name)
  }
}

/**
 * What the header says, checked before any row is read: no name twice, none unknown, no required attribute missing, and none of
 * the mapping's columns. Throws FileRefused that names all of them.
 */
export function resolveColumns(
  header: readonly string[],
  attributes: readonly ImportAttribute[],
  order: Order,
): ImportColumn[] {
  if (header.length > importLimits.columns)
    throw new FileRefused(
      'too_many_columns',
      `The header has more than ${importLimits.columns} columns. Leave out what is not needed; or declare the delimiter.`,
    )
  const find = createColumnFinder(attributes, order)
  const columns = header.map((cell) => {
    const name = cell.trim()
    return { name, target: name === '' ? null : find(name) }
  })
  const named = columns.filter(({ name }) => name !== '')
  if (named.length === 0) throw new FileRefused('no_header', 'The first line of the file has no column names.')
  const problems = [
    ...badMapping(order, attributes, named),
    ...repeated(named.map(({ name }) => name)).map((name) => `The column "${name}" stands in the header twice.`),
    ...unknown(
      named.filter(({ target }) => target === undefined).map(({ name }) => name),
      attributes,
    ),
    ...clashes(named),
    ...missing(named, attributes, order),
  ]
  if (problems.length > 0) throw new FileRefused('bad_header', problems.join(' '))
  return columns.map(({ name, target }) => ({ name, target: target ?? null }))
}

/** The mapping may only name what is there. */
export function badMapping(
  { mapping }: Pick<Order, 'mapping'>,
  attributes: readonly ImportAttribute[],
  columns: readonly { readonly name: string }[] | null,
): string[] {
  const known = new Set(attributes.map(({ key }) => key))
  const targets = Object.values(mapping).filter((target) => target !== null)
  const strangers = targets.filter((target) => !known.has(target) && !isExternalKey(target))
  const names = new Set(columns?.map(({ name }) => name))
  const absent = columns === null ? [] : Object.keys(mapping).filter((name) => !names.has(name.trim()))
  return [
    ...(strangers.length === 0
      ? []
      : [`The mapping names attributes that the type does not have: ${list(strangers)}.`]),
    ...(absent.length === 0 ? [] : [`The mapping names columns that the file does not have: ${list(absent)}.`]),
  ]
}

function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>()
  return [...new Set(names.filter((name) => seen.size === seen.add(name).size))]
}

function unknown(names: readonly string[], attributes: readonly ImportAttribute[]): string[] {
  if (names.length === 0) return []
  const known = attributes.map(({ key }) => key)
  const shown = list(names.slice(0, 20).map((name) => name.slice(0, 100).replaceAll('\0', '')))
  return [
    `Unknown columns: ${shown}. The type has ${list(known)}; the key in the source is "externalKey". Map a column to one of them, or to null to leave it out.`,
  ]
}

/** Two columns for one target: which one counts, nobody can say. */
function clashes(columns: readonly { readonly name: string; readonly target?: ColumnTarget | undefined }[]): string[] {
  const targets = columns.flatMap(({ target }) =>
    target == null ? [] : [target === 'externalKey' ? target : target.attribute],
  )
  return repeated(targets).map((target) => `Two columns go to "${target}". Map one of them to null.`)
}

function missing(
  columns: readonly { readonly target?: ColumnTarget | undefined }[],
  attributes: readonly ImportAttribute[],
  { mode }: Order,
): string[] {
  const there = new Set(
    columns.flatMap(({ target }) => (target == null || target === 'externalKey' ? [] : [target.attribute])),
  )
  const absent = mode === 'update' ? [] : attributes.filter(({ key, required }) => required && !there.has(key))
  const keyless = mode !== 'insert' && !columns.some(({ target }) => target === 'externalKey')
  return [
    ...(absent.length === 0 ? [] : [`Required columns are missing: ${list(absent.map(({ key }) => key))}.`]),
    ...(keyless ? [`The mode ${mode} needs a column "externalKey", or one that is mapped to it.`] : []),
  ]
}
