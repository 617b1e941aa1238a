import { FileRefused } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'
import type { TableRecord } from './csv-reader.ts'
import { createCellReader, readDateStyles, unescapeText, type ReadCell } from './xlsx-cells.ts'
import { openWorkbook } from './xlsx-parts.ts'
import { brokenWorkbook, readXml, walkXml, type XmlPart } from './xml-walk.ts'

const stylesPath = 'xl/styles.xml'
const textsPath = 'xl/sharedStrings.xml'

/** Reads one sheet of a workbook (ECMA-376, Office Open XML) row by row; of all its rows only the list of shared texts is in memory. */
export async function* readXlsx(body: AsyncIterable<Buffer>, sheet: string | undefined): AsyncGenerator<TableRecord[]> {
  const workbook = await openWorkbook(body)
  try {
    const { path, dates1904 } = await findSheet(workbook.read, sheet)
    const styles = workbook.has(stylesPath) ? await readDateStyles(workbook.read(stylesPath)) : []
    const texts = workbook.has(textsPath) ? await readSharedTexts(workbook.read(textsPath)) : []
    yield* readRows(
      workbook.read(path),
      createCellReader({ texts, styleOf: (style) => styles[style] ?? null, dates1904 }),
    )
  } finally {
    workbook.close()
  }
}

/** Where the wanted sheet lies, and from which day the workbook counts. */
async function findSheet(
  read: (path: string) => XmlPart,
  wanted: string | undefined,
): Promise<{ readonly path: string; readonly dates1904: boolean }> {
  const sheets: { readonly name: string; readonly id: string }[] = []
  let dates1904 = false
  await readXml(read('xl/workbook.xml'), {
    open(name, attributes) {
      if (name === 'workbookPr') dates1904 = ['1', 'true'].includes(attributes['date1904'] ?? '')
      if (
        name === 'sheet' &&
        (wanted !== undefined || attributes['state'] === undefined || attributes['state'] === 'visible')
      )
        sheets.push({
          name: attributes['name'] ?? '',
          id: attributes['r:id'] ?? Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? '',
        })
    },
  })
  const found = wanted === undefined ? sheets[0] : sheets.find(({ name }) => name === wanted)
  if (found === undefined)
    throw new FileRefused(
      'no_sheet',
      wanted === undefined
        ? 'The workbook has no visible sheet.'
        : `The workbook has no sheet "${wanted}". It has: ${sheets
            .map(({ name }) => `"${name}"`)
            .join(', ')
            .slice(0, 500)}.`,
    )
  let target: string | undefined
  await readXml(read('xl/_rels/workbook.xml.rels'), {
    open(name, attributes) {
      if (name === 'Relationship' && attributes['Id'] === found.id) target = attributes['Target']
    },
  })
  if (target === undefined) throw brokenWorkbook('its sheet has no part')
  return { path: target.startsWith('/') ? target.slice(1) : `xl/${target}`, dates1904 }
}

/** The list of texts that cells refer to by number: runs of one text belong together, readings of Japanese ones do not. */
async function readSharedTexts(xml: XmlPart): Promise<string[]> {
  const texts: string[] = []
  let current = ''
  let inText = false
  let inReading = false
  let left: number = importLimits.xlsxTextBytes
  await readXml(xml, {
    open(name) {
      if (name === 'si') current = ''
      if (name === 'rPh') inReading = true
      inText = name === 't' && !inReading
    },
    text(part) {
      if (!inText) return
      current += part
      left -= part.length
      if (left < 0)
        throw new FileRefused('file_too_large', 'The texts of the workbook need too much memory. Save it as CSV.')
    },
    close(name) {
      if (name === 't') inText = false
      if (name === 'rPh') inReading = false
      if (name === 'si') texts.push(unescapeText(current))
    },
  })
  return texts
}

async function* readRows(xml: XmlPart, readCell: ReadCell): AsyncGenerator<TableRecord[]> {
  let records: TableRecord[] = []
  let number = 0
  let cells: string[] = []
  let column = 0
  let chars = 0
  let cell: { readonly type: string | undefined; readonly style: number } | undefined
  let value = ''
  let inValue = false
  const steps = walkXml(xml, {
    open(name, attributes) {
      if (name === 'row') {
        number = Number.parseInt(attributes['r'] ?? '', 10) || number + 1
        cells = []
        column = 0
        chars = 0
      } else if (name === 'c') {
        column = columnOf(attributes['r']) ?? column
        cell = { type: attributes['t'], style: Number(attributes['s'] ?? 0) }
        value = ''
      } else if (cell !== undefined && (name === 'v' || name === 't')) inValue = true
      else if (name === 'rPh') inValue = false
    },
    text(part) {
      if (!inValue) return
      value += part
      chars += part.length
      if (chars > importLimits.recordChars) throw rowTooLarge(number)
    },
    close(name) {
      if (name === 'v' || name === 't') inValue = false
      else if (name === 'c' && cell !== undefined) {
        if (value !== '') {
          if (column >= importLimits.columns)
            throw new FileRefused('too_many_columns', `Row ${number} has more than ${importLimits.columns} columns.`)
          while (cells.length < column) cells.push('')
          cells[column] = readCell(cell.type, cell.style, value)
        }
        column += 1
        cell = undefined
      } else if (name === 'row' && cells.length > 0) records.push({ number, cells })
    },
  })
  for await (const _ of steps) {
    if (records.length === 0) continue
    yield records
    records = []
  }
  if (records.length > 0) yield records
}

function rowTooLarge(number: number): FileRefused {
  const most = importLimits.recordChars / 1024 / 1024
  return new FileRefused('record_too_large', `Row ${number} has more than ${most} MiB.`)
}

/** `AB12` is column 27, counted from 0. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0]
  return letters === undefined
    ? null
    : [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1
}
