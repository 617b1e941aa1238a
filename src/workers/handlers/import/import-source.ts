import { badMapping, createColumnFinder, resolveColumns, type ImportAttribute } from '../../../jobs/import-columns.ts'
import { FileRefused } from '../../../jobs/import-errors.ts'
import type { FileEncoding, ImportFormat, ImportOptions } from '../../../jobs/import-options.ts'
import { readCsv, type TableRecord } from './csv-reader.ts'
import { createJsonRows, readLines } from './ndjson-rows.ts'
import { attributeOf, createTableRows, type StagedRow } from './staged-row.ts'
import { detectEncoding, readText } from './text-encoding.ts'
import { readXlsx } from './xlsx-reader.ts'

type Bytes = AsyncIterable<Buffer>

/** What a file turned out to be. */
export interface FileForm {
  readonly format: ImportFormat
  /** Null: it is no text. */
  readonly encoding: FileEncoding | null
  /** Why the encoding may be another one; null: it is sure, or declared. */
  readonly warning: string | null
}

/** Looks at a file's beginning and, where its encoding is not declared, at all of it. Throws FileRefused. */
export async function findForm(
  open: () => Promise<Bytes>,
  options: ImportOptions,
  filename: string | null,
): Promise<FileForm> {
  const start = await firstBytes(await open())
  if (start.length === 0) throw new FileRefused('empty_file', 'The file is empty.')
  const format = formatOf(start, options.format, filename)
  if (format === 'xlsx') return { format, encoding: null, warning: null }
  if (options.encoding !== 'auto') return { format, encoding: options.encoding, warning: null }
  return { format, ...(await detectEncoding(await open())) }
}

/** Rows of a file as they come. What it says of its columns is complete at its end. */
export interface ImportSource {
  readonly rows: AsyncGenerator<StagedRow[]>
  /** Under which name the rows have each attribute. */
  readonly names: ReadonlyMap<string, string>
  /** All names in order. */
  readonly header: ReadonlySet<string>
}

/** Opens a file whose form is known. Its header is judged before the first row; reading throws FileRefused. */
export function openSource(
  bytes: Bytes,
  { format, encoding }: Pick<FileForm, 'format' | 'encoding'>,
  attributes: readonly ImportAttribute[],
  options: ImportOptions,
): ImportSource {
  const names = new Map<string, string>()
  const header = new Set<string>()
  if (format === 'ndjson') {
    const problems = badMapping(options, attributes, null)
    if (problems.length > 0) throw new FileRefused('bad_header', problems.join(' '))
    const toRow = createJsonRows(createColumnFinder(attributes, options), names, header)
    return { names, header, rows: jsonRows(readText(bytes, encoding!), toRow) }
  }
  const records =
    format === 'xlsx' ? readXlsx(bytes, options.sheet) : readCsv(readText(bytes, encoding!), options.delimiter)
  return { names, header, rows: tableRows(records, { padded: format === 'xlsx', attributes, options, names, header }) }
}

async function* jsonRows(
  text: AsyncIterable<string>,
  toRow: (rowNo: number, line: string) => StagedRow,
): AsyncGenerator<StagedRow[]> {
  for await (const lines of readLines(text)) yield lines.map(({ number, line }) => toRow(number, line))
}

async function* tableRows(
  records: AsyncIterable<TableRecord[]>,
  {
    padded,
    attributes,
    options,
    names,
    header,
  }: {
    readonly padded: boolean
    readonly attributes: readonly ImportAttribute[]
    readonly options: ImportOptions
    readonly names: Map<string, string>
    readonly header: Set<string>
  },
): AsyncGenerator<StagedRow[]> {
  let toRow: ReturnType<typeof createTableRows> | undefined
  let headerAt = 0
  for await (const each of records) {
    const rows: StagedRow[] = []
    for (const record of each) {
      if (toRow === undefined) {
        const columns = resolveColumns(record.cells, attributes, options)
        for (const { name, target } of columns) {
          if (name !== '') header.add(name)
          const attribute = attributeOf(target)
          if (attribute !== null && target !== 'externalKey') names.set(attribute, name)
        }
        toRow = createTableRows(columns, { padded })
        headerAt = record.number
        continue
      }
      const row = toRow(record.number - headerAt, record)
      if (row !== null) rows.push(row)
    }
    if (rows.length > 0) yield rows
  }
  if (toRow === undefined) throw new FileRefused('empty_file', 'The file has no header and no rows.')
}

async function firstBytes(bytes: Bytes): Promise<Buffer> {
  for await (const chunk of bytes) return chunk.subarray(0, 4_096)
  return Buffer.alloc(0)
}

const otherFiles: readonly { readonly starts: string; readonly what: string }[] = [
  {
    starts: 'd0cf11e0a1b11ae1',
    what: 'a workbook of the old kind (.xls), or one with a password. Save it as .xlsx without a password',
  },
  { starts: '1f8b', what: 'packed with gzip. Unpack it first' },
  { starts: '25504446', what: 'a PDF. Export the table as CSV or .xlsx' },
  { starts: '3c21', what: 'a page of HTML, not the table behind it. Export the table as CSV or .xlsx' },
]

/** By the first bytes, where they say it; else as declared, by the name, or by the first character. */
function formatOf(start: Buffer, declared: ImportFormat | undefined, filename: string | null): ImportFormat {
  const hex = start.toString('hex', 0, 8)
  const other = otherFiles.find(({ starts }) => hex.startsWith(starts))
  if (other !== undefined) throw new FileRefused('wrong_format', `The file is ${other.what}.`)
  if (hex.startsWith('504b0304')) {
    if (declared === undefined || declared === 'xlsx') return 'xlsx'
    throw new FileRefused('wrong_format', `The file is declared as ${declared}, but is a zip file, as workbooks are.`)
  }
  if (declared === 'xlsx' || (declared === undefined && /\.xlsx$/i.test(filename ?? '')))
    throw new FileRefused('wrong_format', 'The file is no workbook (.xlsx). Save it anew, or declare its format.')
  if (declared !== undefined) return declared
  const text = start
    .toString('latin1')
    .replace(/^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)/, '')
    .replaceAll('\0', '')
    .trimStart()
  if (text.startsWith('[{') || (/\.json$/i.test(filename ?? '') && text.startsWith('[')))
    throw new FileRefused(
      'wrong_format',
      'The file is a JSON list. Write one object a line, without brackets and commas (NDJSON).',
    )
  return text.startsWith('{') || /\.(?:ndjson|jsonl)$/i.test(filename ?? '') ? 'ndjson' : 'csv'
}
