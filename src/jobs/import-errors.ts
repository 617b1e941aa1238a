import { importLimits } from './import-options.ts'

/** What is wrong with a row, as it is stored. */
export interface ImportRowError {
  /** Attribute, or column where it has none; null: the row as a whole. */
  readonly attr: string | null
  readonly code: string
  /** The beginning of the value. */
  readonly value?: string
  /** What the database said. */
  readonly detail?: string
}

/** Why a file cannot be imported: a business result, not a failure of the job. The message names place and remedy. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const sentences: Readonly<Record<string, string>> = {
  required: 'A value is required.',
  invalid_text: 'This is no text. Give a text, a number or true and false, not a list or an object.',
  invalid_number: 'This is no number. Write it with digits and a decimal point, such as 1234.50.',
  invalid_date: 'This is no calendar date. Write it as 2026-01-31.',
  invalid_timestamp: 'This is no instant. Write it as 2026-01-31T08:30:00Z.',
  invalid_boolean: 'This is neither true nor false.',
  duplicate_key: 'An earlier row of the file has the same external key.',
  key_exists: 'There is an entity with this external key already. Import with mode upsert or update to change it.',
  key_missing: 'This mode needs an external key in each row.',
  key_not_found: 'There is no entity with this external key. Import with mode upsert to create it.',
  key_too_long: `An external key has at most ${importLimits.externalKeyChars} characters.`,
  nul_character: 'The value holds a NUL character (U+0000), which cannot be stored.',
  bad_character: 'The value holds half of a surrogate pair, which is no character.',
  field_count:
    'The row has another number of fields than the header. Look for a delimiter or a quote in a value that is not quoted.',
  unnamed_column: 'There is a value in a column without a name. Name the column in the header, or empty it.',
  unknown_column: 'The type has no such attribute. Map it to an attribute, or to null to leave it out.',
  not_an_object: 'The line is no JSON object.',
  refused: 'The database refuses this row.',
}

/** For people. */
export function rowErrorMessage({ code, detail }: ImportRowError): string {
  const sentence = sentences[code] ?? 'The row cannot be imported.'
  return detail === undefined ? sentence : `${sentence} ${detail}`
}

const shownChars = 100

/** The beginning of a value, as a text that can be stored. */
export function shownValue(value: string): string {
  const cut = value.length > shownChars ? `${value.slice(0, shownChars)}…` : value
  return cut.replaceAll('\0', '\\u0000').toWellFormed()
}
