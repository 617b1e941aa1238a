import { Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql'

/** The size of a document's largest operation, its fragments filled in. */
export interface DocumentMeasure {
  /** Levels of fields outside of introspection. */
  readonly depth: number
  /** Levels of fields below and with `__schema` or `__type`; 0: it does not introspect. */
  readonly introspectionDepth: number
  readonly rootFields: number
  readonly aliases: number
  readonly directives: number
  readonly fields: number
}

const nothing: DocumentMeasure = {
  depth: 0,
  introspectionDepth: 0,
  rootFields: 0,
  aliases: 0,
  directives: 0,
  fields: 0,
}

/**
 * Measures in one pass: each fragment once, whatever the number of its uses, so that fragments of fragments of fragments
 * cost no more than their text. Needs no schema and runs before validation, some of whose rules are quadratic.
 */
export function measureDocument({ definitions }: DocumentNode): DocumentMeasure {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const each of definitions) if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each)
  const measured = new Map<string, DocumentMeasure>()

  const measureFragment = (name: string): DocumentMeasure => {
    const known = measured.get(name)
    if (known !== undefined) return known
    // A fragment that uses itself counts as nothing inside itself; validation refuses it.
    measured.set(name, nothing)
    const fragment = fragments.get(name)
    const measure =
      fragment === undefined
        ? nothing
        : withDirectives(measureSelections(fragment.selectionSet), fragment.directives?.length ?? 0)
    measured.set(name, measure)
    return measure
  }

  const measureSelections = ({ selections }: SelectionSetNode): DocumentMeasure => {
    let sum = nothing
    for (const selection of selections) {
      let measure: DocumentMeasure
      switch (selection.kind) {
        case Kind.FIELD: {
          const below = selection.selectionSet === undefined ? nothing : measureSelections(selection.selectionSet)
          measure = asField(selection.name.value, below, selection.alias === undefined ? 0 : 1)
          break
        }
        case Kind.INLINE_FRAGMENT:
          measure = measureSelections(selection.selectionSet)
          break
        case Kind.FRAGMENT_SPREAD:
          measure = measureFragment(selection.name.value)
      }
      sum = beside(sum, withDirectives(measure, selection.directives?.length ?? 0))
    }
    return sum
  }

  let largest = nothing
  for (const each of definitions) {
    if (each.kind !== Kind.OPERATION_DEFINITION) continue
    const variables = each.variableDefinitions?.reduce((sum, { directives }) => sum + (directives?.length ?? 0), 0) ?? 0
    largest = larger(
      largest,
      withDirectives(measureSelections(each.selectionSet), (each.directives?.length ?? 0) + variables),
    )
  }
  // What no operation uses must not be large either: it is validated all the same.
  const unused = [...fragments.keys()].filter((name) => !measured.has(name))
  for (const name of unused) largest = larger(largest, { ...measureFragment(name), rootFields: 0 })
  return largest
}

function asField(name: string, below: DocumentMeasure, alias: number): DocumentMeasure {
  const introspects = name === '__schema' || name === '__type'
  const levels = 1 + Math.max(below.depth, introspects ? below.introspectionDepth : 0)
  return {
    depth: introspects ? 0 : levels,
    introspectionDepth: introspects ? levels : below.introspectionDepth,
    rootFields: 1,
    aliases: below.aliases + alias,
    directives: below.directives,
    fields: below.fields + 1,
  }
}

const withDirectives = (measure: DocumentMeasure, directives: number): DocumentMeasure =>
  directives === 0 ? measure : { ...measure, directives: measure.directives + directives }

function beside(a: DocumentMeasure, b: DocumentMeasure): DocumentMeasure {
  return {
    depth: Math.max(a.depth, b.depth),
    introspectionDepth: Math.max(a.introspectionDepth, b.introspectionDepth),
    rootFields: a.rootFields + b.rootFields,
    aliases: a.aliases + b.aliases,
    directives: a.directives + b.directives,
    fields: a.fields + b.fields,
  }
}

function larger(a: DocumentMeasure, b: DocumentMeasure): DocumentMeasure {
  const pick = (of: keyof DocumentMeasure): number => Math.max(a[of], b[of])
  return {
    depth: pick('depth'),
    introspectionDepth: pick('introspectionDepth'),
    rootFields: pick('rootFields'),
    aliases: pick('aliases'),
    directives: pick('directives'),
    fields: pick('fields'),
  }
}
