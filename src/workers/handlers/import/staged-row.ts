import type { ImportColumn } from '../../../jobs/import-columns.ts'
import { shownValue, type ImportRowError } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'
import type { TableRecord } from './csv-reader.ts'

/** A row as it is read in. */
export interface StagedRow {
  readonly rowNo: number
  /** JSON object: as it stood in the file. */
  readonly raw: string
  readonly externalKey: string | null
  /** What is wrong already; null: nothing so far. */
  readonly errors: readonly ImportRowError[] | null
}

/** Makes rows of a table's records. Null: the record is empty, or `padded` only by its delimiters. */
export function createTableRows(
  columns: readonly ImportColumn[],
  { padded }: { readonly padded: boolean },
): (rowNo: number, record: TableRecord) => StagedRow | null {
  const names = columns.map(({ name }) => (name === '' ? null : `${JSON.stringify(name)}:`))
  const attrs = columns.map(({ name, target }, i) => attributeOf(target) ?? (name || `column ${i + 1}`))
  const keyColumn = columns.findIndex(({ target }) => target === 'externalKey')
  return (rowNo, { cells }) => {
    if (cells.every((cell) => cell === '')) return null
    const errors: ImportRowError[] = []
    const raw: string[] = []
    for (const [i, cell] of cells.entries()) {
      const name = names[i]
      const code = faultOf(cell)
      if (code !== null) errors.push({ attr: attrs[i] ?? null, code, value: shownValue(cell) })
      if (name != null) raw.push(name + JSON.stringify(code === null ? cell : storable(cell)))
      else if (name === null && cell !== '')
        errors.push({ attr: attrs[i]!, code: 'unnamed_column', value: shownValue(cell) })
    }
    const beyond = cells.slice(columns.length).some((cell) => cell !== '')
    if (beyond || (cells.length < columns.length && !padded))
      errors.push({ attr: null, code: 'field_count', value: `${cells.length} instead of ${columns.length}` })
    const key = keyOf(cells[keyColumn] ?? '', errors)
    return { rowNo, raw: `{${raw.join(',')}}`, externalKey: key, errors: someOf(errors) }
  }
}

export function attributeOf(target: ImportColumn['target']): string | null {
  return target === null ? null : target === 'externalKey' ? target : target.attribute
}

/** The key, where it can be one; a key that cannot is an error of the row. */
export function keyOf(text: string, errors: ImportRowError[]): string | null {
  if (text.trim() === '' || faultOf(text) !== null) return null
  if (text.length <= importLimits.externalKeyChars) return text
  errors.push({ attr: 'externalKey', code: 'key_too_long', value: shownValue(text) })
  return null
}

export function someOf(errors: readonly ImportRowError[]): readonly ImportRowError[] | null {
  return errors.length === 0 ? null : errors.slice(0, importLimits.errorsPerRow)
}

/** What PostgreSQL cannot store in a text. */
export function faultOf(text: string): 'nul_character' | 'bad_character' | null {
  if (text.includes('\0')) return 'nul_character'
  return text.isWellFormed() ? null : 'bad_character'
}

/** For the raw row of one that is refused: with the character written out, which itself cannot be kept. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\\u0000').toWellFormed()
}
