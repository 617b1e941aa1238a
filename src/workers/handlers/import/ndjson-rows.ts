import type { ColumnTarget } from '../../../jobs/import-columns.ts'
import { FileRefused, shownValue, type ImportRowError } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'
import { faultOf, keyOf, someOf, storable, type StagedRow } from './staged-row.ts'

/** Lines of a file with their numbers; blank ones are counted and left out. */
export async function* readLines(
  text: AsyncIterable<string>,
): AsyncGenerator<{ readonly number: number; readonly line: string }[]> {
  let rest = ''
  let number = 0
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    if (rest.length > importLimits.recordChars) throw tooLong(number + lines.length + 1)
    const found = lines.map((line) => ({ number: (number += 1), line })).filter(({ line }) => line.trim() !== '')
    if (found.length > 0) yield found
  }
  if (rest.trim() !== '') yield [{ number: number + 1, line: rest }]
}

function tooLong(line: number): FileRefused {
  const most = importLimits.recordChars / 1024 / 1024
  return new FileRefused(
    'record_too_large',
    `Line ${line.toLocaleString('en')} has more than ${most} MiB. Write one JSON object a line.`,
  )
}

const mostDepth = 100

/**
 * Makes rows of JSON lines. `names` grows as attributes are met: under which name the rows have each; a second name for one is unknown.
 * The line itself is what is kept, so that numbers stay as exact as they were written.
 */
export function createJsonRows(
  find: (name: string) => ColumnTarget | undefined,
  names: Map<string, string>,
  header: Set<string>,
): (rowNo: number, line: string) => StagedRow {
  const targets = new Map<string, ColumnTarget | undefined>()
  const targetOf = (name: string): ColumnTarget | undefined => {
    if (targets.has(name)) return targets.get(name)
    let target = find(name)
    if (target != null && target !== 'externalKey') {
      if ((names.get(target.attribute) ?? name) !== name) target = undefined
      else names.set(target.attribute, name)
    }
    if (targets.size < importLimits.columns) {
      targets.set(name, target)
      if (faultOf(name) === null) header.add(name)
    }
    return target
  }

  return (rowNo, line) => {
    const value = parsed(line)
    if (value === null) return refused(rowNo, line, 'not_an_object')
    const errors: ImportRowError[] = []
    let key: string | null = null
    for (const [name, given] of Object.entries(value)) {
      const target = targetOf(name)
      if (target === undefined && errors.length < importLimits.errorsPerRow)
        errors.push({ attr: shownValue(name), code: 'unknown_column' })
      const code = /\\u(?:0000|d[89a-f])/i.test(line) ? (faultIn(given) ?? faultOf(name)) : null
      if (code !== null) return refused(rowNo, line, code, shownValue(name))
      if (target === 'externalKey' && given !== null) key = keyOf(keyText(given, line, name), errors)
    }
    return { rowNo, raw: line, externalKey: key, errors: someOf(errors) }
  }
}

function parsed(line: string): Record<string, unknown> | null {
  const brackets = line.length - line.replaceAll(/[[{]/g, '').length
  if (brackets > mostDepth && depthOf(line) > mostDepth) return null
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

/** How deep brackets go; those in texts count as well, which only refuses a little early. */
function depthOf(line: string): number {
  let depth = 0
  let most = 0
  for (const char of line.match(/[[\]{}]/g) ?? []) {
    depth += char === '[' || char === '{' ? 1 : -1
    most = Math.max(most, depth)
  }
  return most
}

function faultIn(value: unknown): ReturnType<typeof faultOf> {
  if (typeof value === 'string') return faultOf(value)
  if (typeof value !== 'object' || value === null) return null
  for (const [name, child] of Object.entries(value)) {
    const fault = faultOf(name) ?? faultIn(child)
    if (fault !== null) return fault
  }
  return null
}

/** Numbers as they are written: 2^53 and beyond are keys, too. */
function keyText(value: unknown, line: string, name: string): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return JSON.stringify(value)
  let source = JSON.stringify(value)
  JSON.parse(line, function (this: unknown, key: string, each: unknown, context?: { source?: string }) {
    if (key === name && each === value && context?.source !== undefined) source = context.source
    return each
  } as (this: unknown, key: string, value: unknown) => unknown)
  return source
}

function refused(rowNo: number, line: string, code: string, attr: string | null = null): StagedRow {
  return {
    rowNo,
    raw: JSON.stringify({ line: storable(line.slice(0, 1_000)) }),
    externalKey: null,
    errors: [{ attr, code }],
  }
}
