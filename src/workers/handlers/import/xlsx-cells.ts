import { readXml, type XmlPart } from './xml-walk.ts'

/** What a style shows a number as; null: as a number. */
export type DateStyle = 'date' | 'time' | 'datetime' | null

interface CellReaderDeps {
  readonly texts: readonly string[]
  readonly styleOf: (style: number) => DateStyle
  /** Days are counted from 1904. */
  readonly dates1904: boolean
}

export type ReadCell = (type: string | undefined, style: number, value: string) => string

/** What a cell says, as text: numbers in decimal digits, dates and times in ISO 8601, which the workbook itself keeps as a number with a style. */
export function createCellReader({ texts, styleOf, dates1904 }: CellReaderDeps): ReadCell {
  return (type, style, value) => {
    switch (type) {
      case 's':
        return texts[Number(value)] ?? ''
      case 'b':
        return value === '1' ? 'true' : 'false'
      case undefined:
      case 'n': {
        const shownAs = styleOf(style)
        return shownAs === null ? plainNumber(value) : instant(Number(value), shownAs, dates1904)
      }
      default:
        return unescapeText(value)
    }
  }
}

/** Reads which styles show dates, in the order in which cells number them. */
export async function readDateStyles(xml: XmlPart): Promise<DateStyle[]> {
  const formats = new Map<number, string>()
  const styles: DateStyle[] = []
  let inCellStyles = false
  await readXml(xml, {
    open(name, attributes) {
      if (name === 'numFmt') formats.set(Number(attributes['numFmtId']), attributes['formatCode'] ?? '')
      if (name === 'cellXfs') inCellStyles = true
      if (name === 'xf' && inCellStyles) {
        const id = Number(attributes['numFmtId'] ?? 0)
        const format = formats.get(id)
        styles.push(format === undefined ? builtInStyle(id) : styleOfFormat(format))
      }
    },
    close(name) {
      if (name === 'cellXfs') inCellStyles = false
    },
  })
  return styles
}

/** Formats that have a number and no code of their own (ECMA-376, 18.8.30). */
function builtInStyle(id: number): DateStyle {
  if (id === 22) return 'datetime'
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || (id >= 45 && id <= 47) || id === 55 || id === 56)
    return 'time'
  const isDate = (id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 58)
  return isDate ? 'date' : null
}

function styleOfFormat(format: string): DateStyle {
  const elapsed = /\[(?:h+|m+|s+)\]/i.test(format)
  const bare = format
    .split(';', 1)[0]!
    .replaceAll(/"[^"]*"|\\.|\[[^\]]*\]|_.|\*./g, '')
    .replaceAll(/general|am\/pm|a\/p/gi, '')
  const time = elapsed || /[hs]/i.test(bare)
  const date = /[yd]/i.test(bare) || (!time && /m/i.test(bare))
  return date ? (time ? 'datetime' : 'date') : time ? 'time' : null
}

function plainNumber(value: string): string {
  if (/^-?\d+(?:\.\d+)?$/.test(value)) return value
  const number = Number(value)
  return Number.isFinite(number) && Math.abs(number) < 1e21 ? String(number) : value
}

const dayMs = 24 * 60 * 60 * 1_000

function instant(serial: number, shownAs: Exclude<DateStyle, null>, dates1904: boolean): string {
  // Spreadsheets count 29 February 1900, which never was.
  const days = dates1904 ? serial : serial < 60 ? serial + 1 : serial
  const at = (dates1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)) + Math.round(days * dayMs)
  if (!Number.isFinite(at) || Math.abs(at) > 8.64e15) return String(serial)
  const text = new Date(at).toISOString().replace(/(?:\.000)?Z$/, '')
  if (shownAs === 'datetime') return text
  return shownAs === 'date' ? text.slice(0, 10) : text.slice(11)
}

/** Characters that XML cannot hold stand as `_x000D_` (ECMA-376, ST_Xstring). */
export function unescapeText(text: string): string {
  return text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text
}
