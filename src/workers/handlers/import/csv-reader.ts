import { FileRefused } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'

/** A record of a table. */
export interface TableRecord {
  /** Counts every record from 1, blank ones too: what a spreadsheet shows beside it. */
  readonly number: number
  readonly cells: readonly string[]
}

type Text = AsyncIterable<string>

const candidates = [',', ';', '\t', '|'] as const
const sampleChars = 64 * 1024
const sampleRecords = 20

/**
 * Reads CSV (RFC 4180) as it comes: any line ends, also mixed; quotes where a field begins with one, in other fields they stand for
 * themselves. Blank lines are counted and left out. In memory is at most one record and one chunk. Throws FileRefused with the place.
 *
 * csv-parse 7.0.3 was tried in its place. Either it refuses every quote inside a field (`5" pipe`), or with `relax_quotes` none: then
 * `"He said "hi"",c` goes in as it stands, and so does the blank behind a closing quote, quote and all. Of a quote that nobody closed
 * it knows the line where the file or the limit ended, not where it opens. It reads 118,000 rows a second, this 490,000, which is felt:
 * each slice of an import reads the file from its beginning.
 */
export async function* readCsv(text: Text, given: string | undefined): AsyncGenerator<TableRecord[]> {
  let buffer = ''
  let delimiter = given
  const place: Place = { number: 0, line: 1 }
  for await (const chunk of text) {
    buffer += chunk
    if (delimiter === undefined && buffer.length < sampleChars) continue
    delimiter ??= findDelimiter(buffer)
    const records: TableRecord[] = []
    buffer = takeRecords(buffer, delimiter, false, place, records)
    if (records.length > 0) yield records
  }
  const records: TableRecord[] = []
  takeRecords(buffer, delimiter ?? findDelimiter(buffer), true, place, records)
  if (records.length > 0) yield records
}

interface Place {
  /** Records so far. */
  number: number
  /** Line in which the next record begins. */
  line: number
}

/** Takes the whole records off the front of the text; answers the rest. */
function takeRecords(text: string, delimiter: string, atEnd: boolean, place: Place, into: TableRecord[]): string {
  let at = 0
  if (place.number === 0 && place.line === 1) {
    at = skipSepLine(text)
    if (at > 0) place.line += 1
  }
  while (at < text.length) {
    const found = takeRecord(text, at, delimiter, atEnd, place.line)
    if (found === null) break
    place.number += 1
    place.line += found.lines
    at = found.end
    if (!found.blank) into.push({ number: place.number, cells: found.cells })
  }
  const rest = text.slice(at)
  if (rest.length > importLimits.recordChars) throw tooLarge(rest, delimiter, place.line)
  return rest
}

interface Taken {
  readonly cells: string[]
  readonly end: number
  readonly lines: number
  readonly blank: boolean
}

const quote = 34
const lf = 10
const cr = 13

/** One record; null: its end is not there yet. */
function takeRecord(text: string, start: number, delimiter: string, atEnd: boolean, line: number): Taken | null {
  const cells: string[] = []
  const separator = delimiter.charCodeAt(0)
  let lines = 1
  let at = start
  let quoted = false
  for (;;) {
    let end: number
    if (text.charCodeAt(at) === quote) {
      quoted = true
      const close = closingQuote(text, at + 1)
      if (close < 0 || (close === text.length - 1 && !atEnd)) {
        if (atEnd) throw unclosed(line + lines - 1, cells.length + 1)
        return null
      }
      const cell = text.slice(at + 1, close)
      lines += linesIn(cell)
      cells.push(cell.includes('"') ? cell.replaceAll('""', '"') : cell)
      end = close + 1
      // Blanks behind the quote belong to nobody.
      while (text[end] === ' ') end += 1
      if (end === text.length && !atEnd) return null
      if (end < text.length && !endsField(text.charCodeAt(end), separator))
        throw strayQuote(line + lines - 1, cells.length)
    } else {
      end = at
      while (end < text.length && !endsField(text.charCodeAt(end), separator)) end += 1
      if (end === text.length && !atEnd) return null
      cells.push(text.slice(at, end))
    }
    if (end - start > importLimits.recordChars) throw tooLarge(text.slice(start), delimiter, line)
    if (text.charCodeAt(end) === separator) {
      at = end + 1
      continue
    }
    // CR alone at the end of a chunk may be half of CR LF.
    if (text.charCodeAt(end) === cr && end + 1 === text.length && !atEnd) return null
    end += text.charCodeAt(end) === cr && text.charCodeAt(end + 1) === lf ? 2 : 1
    return {
      cells,
      end: Math.min(end, text.length),
      lines,
      blank: !quoted && cells.length === 1 && cells[0]!.trim() === '',
    }
  }
}

function endsField(code: number, separator: number): boolean {
  return code === separator || code === lf || code === cr
}

/** Index of the quote that ends the field; a doubled one stands for one. -1: there is none yet. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text.charCodeAt(at + 1) !== quote) return at
  }
  return -1
}

function linesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** Spreadsheets write `sep=;` above a table to say how it is separated. */
function skipSepLine(text: string): number {
  return /^sep=[^\r\n](?:\r\n|\n|\r)/.exec(text)?.[0].length ?? 0
}

/** The delimiter with which the first records have the most fields, and all the same number of them. */
function findDelimiter(text: string): string {
  const declared = /^sep=([^\r\n])[\r\n]/.exec(text)?.[1]
  if (declared !== undefined) return declared
  const scored = candidates.map((delimiter) => ({ delimiter, ...score(text, delimiter) }))
  return scored.reduce((best, each) =>
    each.alike > best.alike || (each.alike === best.alike && each.fields > best.fields) ? each : best,
  ).delimiter
}

function score(text: string, delimiter: string): { readonly fields: number; readonly alike: number } {
  const records: TableRecord[] = []
  const sample = text.slice(0, sampleChars)
  try {
    let at = 0
    while (records.length < sampleRecords && at < sample.length) {
      const found = takeRecord(sample, at, delimiter, text.length <= sampleChars, 1)
      if (found === null) break
      at = found.end
      if (!found.blank) records.push({ number: 0, cells: found.cells })
    }
  } catch {
    // What is wrong is told when the file is read.
  }
  const fields = records[0]?.cells.length ?? 0
  const alike = records.filter(({ cells }) => cells.length === fields).length / Math.max(records.length, 1)
  return { fields, alike: fields < 2 ? 0 : alike }
}

function unclosed(line: number, field: number): FileRefused {
  return new FileRefused(
    'unclosed_quote',
    `The quote that opens in line ${line.toLocaleString('en')}, field ${field}, is never closed. Close it, or double quotes that stand for themselves.`,
  )
}

function strayQuote(line: number, field: number): FileRefused {
  return new FileRefused(
    'stray_quote',
    `In line ${line.toLocaleString('en')}, field ${field}, something follows the closing quote. Double quotes inside a quoted field ("").`,
  )
}

/** A record without an end is nearly always a quote without one. */
function tooLarge(record: string, delimiter: string, line: number): FileRefused {
  const place = openQuote(record, delimiter, line)
  const why =
    place === null
      ? ''
      : ` A quote opens in line ${place.line.toLocaleString('en')}, field ${place.field}: is it ever closed?`
  return new FileRefused(
    'record_too_large',
    `The record in line ${line.toLocaleString('en')} has more than ${importLimits.recordChars / 1024 / 1024} MiB.${why}`,
  )
}

function openQuote(record: string, delimiter: string, line: number): { line: number; field: number } | null {
  try {
    takeRecord(record.slice(0, importLimits.recordChars), 0, delimiter, true, line)
  } catch (error) {
    const [, at, field] = /line ([\d,]+), field (\d+)/.exec((error as Error).message) ?? []
    if (at !== undefined) return { line: Number(at.replaceAll(',', '')), field: Number(field) }
  }
  return null
}
