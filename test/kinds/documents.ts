import { createCanvas, type Canvas } from '@napi-rs/canvas'

/** One page of a made PDF: lines of text, or a picture as large as the page, or `small` on it. */
export type MadePage =
  | { readonly lines: readonly (readonly [text: string, size: number])[] }
  | { readonly jpeg: Buffer; readonly width: number; readonly height: number; readonly small?: boolean }

/** A small PDF. Text is in WinAnsi, that is Latin-1 with a few more. */
export function makePdf(
  pages: readonly MadePage[],
  { title, trailer = '' }: { readonly title?: string; readonly trailer?: string } = {},
): Buffer {
  const objects: Buffer[] = []
  const add = (...parts: (string | Buffer)[]): number =>
    objects.push(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part))))
  add('<</Type/Catalog/Pages 2 0 R>>')
  add('')
  const font = add('<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>')
  const kids = pages.map((page) => {
    const isPicture = 'jpeg' in page
    const image = isPicture
      ? add(
          `<</Type/XObject/Subtype/Image/Width ${page.width}/Height ${page.height}/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode/Length ${page.jpeg.length}>>\nstream\n`,
          page.jpeg,
          '\nendstream',
        )
      : 0
    const content = isPicture ? pictureOf(page.small === true) : textOf(page.lines)
    const contents = add(`<</Length ${content.length}>>\nstream\n${content}\nendstream`)
    const resources = isPicture ? `/XObject<</I ${image} 0 R>>` : `/Font<</F ${font} 0 R>>`
    return add(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<${resources}>>/Contents ${contents} 0 R>>`)
  })
  objects[1] = Buffer.from(`<</Type/Pages/Kids[${kids.map((kid) => `${kid} 0 R`).join(' ')}]/Count ${kids.length}>>`)
  const info = title === undefined ? '' : `/Info ${add(`<</Title(${title})>>`)} 0 R`
  return assemble(objects, `/Root 1 0 R${info}${trailer}`)
}

function pictureOf(small: boolean): string {
  return small ? 'q 400 0 0 566 90 180 cm /I Do Q' : 'q 595 0 0 842 0 0 cm /I Do Q'
}

function textOf(lines: readonly (readonly [text: string, size: number])[]): string {
  let y = 800
  return lines
    .map(([text, size]) => {
      y -= size * 1.6
      return `BT /F ${size} Tf 60 ${y} Td (${text.replaceAll(/[\\()]/g, '\\$&')}) Tj ET`
    })
    .join('\n')
}

function assemble(objects: readonly Buffer[], trailer: string): Buffer {
  const parts = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')]
  const offsets: number[] = []
  let length = parts[0]!.length
  objects.forEach((object, index) => {
    offsets.push(length)
    const whole = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')])
    parts.push(whole)
    length += whole.length
  })
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<</Size ${size}${trailer}>>\nstartxref\n${length}\n%%EOF\n`,
    ),
  )
  return Buffer.concat(parts)
}

/** What a German invoice says. */
export const invoice = [
  'Müller & Söhne GmbH',
  'Königstraße 12, 80331 München',
  '',
  'Rechnung Nr. 2026-004711',
  '',
  'Sehr geehrte Damen und Herren,',
  'für die Lieferung größerer Büromöbel berechnen wir Ihnen die folgenden Beträge.',
  'Bitte überweisen Sie den Gesamtbetrag bis zum 15. März auf unser Konto.',
  'Vielen Dank für Ihren Auftrag und freundliche Grüße aus München.',
]

/** A page as a scanner would bring it, A4 at 200 dots per inch. */
export function makeScan(lines: readonly string[] = invoice): {
  readonly canvas: Canvas
  readonly width: number
  readonly height: number
} {
  const [width, height] = [1654, 2339]
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  context.fillStyle = '#ffffff'
  context.fillRect(0, 0, width, height)
  context.fillStyle = '#1a1a1a'
  lines.forEach((line, index) => {
    context.font = `${line.startsWith('Rechnung') ? 52 : 34}px "DejaVu Sans", sans-serif`
    context.fillText(line, 120, 240 + index * 90)
  })
  return { canvas, width, height }
}

export function makeScannedPage(lines?: readonly string[]): MadePage {
  const { canvas, width, height } = makeScan(lines)
  return { jpeg: canvas.toBuffer('image/jpeg', 85), width, height }
}

/** Edits from one text to the other for each hundred characters, spaces and line breaks left aside. */
export function characterErrors(found: string, wanted: readonly string[]): number {
  const [a, b] = [found, wanted.join('')].map((text) => text.replaceAll(/\s/g, ''))
  let row = Array.from({ length: b!.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a!.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b!.length; j += 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a![i - 1] === b![j - 1] ? 0 : 1)))
    row = next
  }
  return (100 * row[b!.length]!) / b!.length
}

/** The header of a PNG that says it has 40,000 x 40,000 pixels. */
export function hugePng(): Buffer {
  const png = createCanvas(1, 1).toBuffer('image/png')
  const huge = Buffer.from(png)
  huge.writeUInt32BE(40_000, 16)
  huge.writeUInt32BE(40_000, 20)
  return huge
}

interface TiffPage {
  readonly width: number
  readonly height: number
  /** One byte a pixel. */
  readonly grey: Buffer
  /** A smaller copy of another page. */
  readonly thumbnail?: boolean
}

/** A page of a made TIFF: text, or nothing of this size. */
export function makeTiffPage(content: readonly string[] | number): TiffPage {
  if (typeof content === 'number')
    return { width: content, height: content, grey: Buffer.alloc(content * content, 255) }
  const { canvas, width, height } = makeScan(content)
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
  return { width, height, grey: Buffer.from(Array.from({ length: width * height }, (_, i) => data[4 * i]!)) }
}

/** An uncompressed TIFF: the directory of each page stands behind its pixels, as most programs write it. */
export function makeTiff(pages: readonly TiffPage[], { bigEndian = false } = {}): Buffer {
  const short = (value: number): Buffer => {
    const bytes = Buffer.alloc(2)
    if (bigEndian) bytes.writeUInt16BE(value)
    else bytes.writeUInt16LE(value)
    return bytes
  }
  const long = (value: number): Buffer => {
    const bytes = Buffer.alloc(4)
    if (bigEndian) bytes.writeUInt32BE(value)
    else bytes.writeUInt32LE(value)
    return bytes
  }
  const parts: Buffer[] = [Buffer.from(bigEndian ? 'MM\0*' : 'II*\0', 'latin1')]
  let length = 4
  for (const { width, height, grey, thumbnail = false } of pages) {
    const pixels = Buffer.concat([grey, Buffer.alloc(grey.length % 2)])
    const entries: [tag: number, value: number][] = [
      [254, thumbnail ? 1 : 0],
      [256, width],
      [257, height],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, length + 4],
      [277, 1],
      [278, height],
      [279, grey.length],
    ]
    const directory = length + 4 + pixels.length
    parts.push(long(directory), pixels, short(entries.length))
    for (const [tag, value] of entries) parts.push(short(tag), short(4), long(1), long(value))
    length = directory + 2 + 12 * entries.length
  }
  return Buffer.concat([...parts, long(0)])
}
