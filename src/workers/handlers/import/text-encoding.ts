import { isAscii, isUtf8 } from 'node:buffer'
import { FileRefused } from '../../../jobs/import-errors.ts'
import type { FileEncoding } from '../../../jobs/import-options.ts'

type Bytes = AsyncIterable<Buffer>

const boms: readonly { readonly encoding: FileEncoding; readonly bytes: readonly number[] }[] = [
  { encoding: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', bytes: [0xff, 0xfe] },
  { encoding: 'utf-16be', bytes: [0xfe, 0xff] },
]

const remedy = 'Save the file as UTF-8, or declare its encoding.'

export interface FoundEncoding {
  readonly encoding: FileEncoding
  /** That it was guessed, and from which byte on; null: it is sure. */
  readonly warning: string | null
}

/**
 * Finds a file's encoding by reading all of it, chunk by chunk: a byte order mark, else UTF-8 if every byte is, else windows-1252 with a
 * warning. It is known before the first row is read in, so that no row ever has to be read again because of a byte further down; the
 * price is one more pass over the stored file, 0.15 s for 100 MB. Throws FileRefused where a byte is in neither.
 */
export async function detectEncoding(bytes: Bytes): Promise<FoundEncoding> {
  let notUtf8: Place | null = null
  let undefined1252: Place | null = null
  let multibyte: Place | null = null
  let first = true
  for await (const { chunk, at, lines } of unbroken(bytes)) {
    if (first) {
      first = false
      const bom = bomOf(chunk)
      if (bom !== null) return { encoding: bom, warning: null }
      refuseUnmarkedUtf16(chunk)
    }
    if (isAscii(chunk)) continue
    const placed = (index: number): Place | null => (index < 0 ? null : placeIn(chunk, index, at, lines))
    undefined1252 ??= placed(firstUndefined1252(chunk))
    if (isUtf8(chunk)) multibyte ??= placed(chunk.findIndex((byte) => byte >= 0x80))
    else if (notUtf8 === null || multibyte === null) {
      const found = scanUtf8(chunk)
      multibyte ??= placed(found.multibyte)
      notUtf8 ??= placed(found.invalid)
    }
  }
  if (notUtf8 === null) return { encoding: 'utf-8', warning: null }
  if (undefined1252 !== null)
    throw new FileRefused(
      'bad_encoding',
      `The file is neither UTF-8 (${where(notUtf8)}) nor windows-1252 (${where(undefined1252)}). ${remedy}`,
    )
  return { encoding: 'windows-1252', warning: warningOf(notUtf8, multibyte) }
}

function warningOf(notUtf8: Place, multibyte: Place | null): string {
  const mixed =
    multibyte === null
      ? ''
      : ` The file looks mixed: there are characters of UTF-8 as well, the first with ${where(multibyte)}; each is read as two or more others.`
  return `The file was read as windows-1252, since ${where(notUtf8)} is not UTF-8.${mixed} If that is wrong, cancel the import, and upload the file again with its encoding declared.`
}

/** The text of a file, read strictly: what is not in the encoding is refused with line and offset, nothing is replaced. Without the BOM at its start. */
export async function* readText(bytes: Bytes, encoding: FileEncoding): AsyncGenerator<string> {
  const decode = decoders[encoding]
  let first = true
  for await (const { chunk, at, lines } of unbroken(bytes, encoding)) {
    if (first) {
      const bom = bomOf(chunk)
      if (bom !== null && bom !== encoding && !(bom === 'utf-8' && !encoding.startsWith('utf')))
        throw new FileRefused(
          'bad_encoding',
          `The file is declared as ${encoding}, but begins with the byte order mark of ${bom}.`,
        )
    }
    const text = decode(chunk)
    if (typeof text === 'number')
      throw new FileRefused(
        'bad_encoding',
        `The file is not ${encoding}: ${where(placeIn(chunk, text, at, lines, encoding))}. ${remedy}`,
      )
    yield first && text.startsWith('\uFEFF') ? text.slice(1) : text
    first = false
  }
}

interface Place {
  readonly byte: number
  readonly offset: number
  readonly line: number
}

function where({ byte, offset, line }: Place): string {
  const hex = byte.toString(16).toUpperCase().padStart(2, '0')
  return `byte 0x${hex} in line ${line.toLocaleString('en')} (byte offset ${offset.toLocaleString('en')})`
}

function placeIn(chunk: Buffer, index: number, at: number, lines: number, encoding: FileEncoding = 'utf-8'): Place {
  return { byte: chunk[index]!, offset: at + index, line: lines + newlines(chunk.subarray(0, index), encoding) + 1 }
}

/** A line feed is one byte in every encoding but UTF-16, where 0x0A may also be half of another character. */
function newlines(chunk: Buffer, encoding: FileEncoding): number {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    let count = 0
    const low = encoding === 'utf-16le' ? 0 : 1
    for (let i = 0; i + 1 < chunk.length; i += 2) if (chunk[i + low] === 10 && chunk[i + 1 - low] === 0) count += 1
    return count
  }
  let count = 0
  for (let i = chunk.indexOf(10); i >= 0; i = chunk.indexOf(10, i + 1)) count += 1
  return count
}

/** Chunks that end with a whole character, each with its offset and the lines before it. The last one may be cut: then its decoder says so. */
async function* unbroken(
  bytes: Bytes,
  encoding: FileEncoding = 'utf-8',
): AsyncGenerator<{ readonly chunk: Buffer; readonly at: number; readonly lines: number }> {
  let rest: Buffer = Buffer.alloc(0)
  let at = 0
  let lines = 0
  for await (const part of bytes) {
    const all = rest.length === 0 ? part : Buffer.concat([rest, part])
    // A byte order mark is seen whole.
    const cut = at === 0 && all.length < 4 ? all.length : unfinished(all, encoding)
    const chunk = all.subarray(0, all.length - cut)
    rest = Buffer.from(all.subarray(all.length - cut))
    if (chunk.length === 0) continue
    yield { chunk, at, lines }
    at += chunk.length
    lines += newlines(chunk, encoding)
  }
  if (rest.length > 0) yield { chunk: rest, at, lines }
}

/** How many bytes at the end may belong to a character that goes on. */
function unfinished(chunk: Buffer, encoding: FileEncoding): number {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    const odd = chunk.length % 2
    const high = chunk[chunk.length - odd - (encoding === 'utf-16le' ? 1 : 2)] ?? 0
    return high >= 0xd8 && high < 0xdc ? odd + 2 : odd
  }
  if (encoding !== 'utf-8') return 0
  for (let back = 1; back <= Math.min(3, chunk.length); back += 1) {
    const byte = chunk[chunk.length - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return sequenceLength(byte) > back ? back : 0
  }
  return 0
}

function sequenceLength(lead: number): number {
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2
}

function bomOf(chunk: Buffer): FileEncoding | null {
  return boms.find(({ bytes }) => bytes.every((byte, i) => chunk[i] === byte))?.encoding ?? null
}

/** UTF-16 without a mark is valid UTF-8 full of NULs. */
function refuseUnmarkedUtf16(chunk: Buffer): void {
  const sample = chunk.subarray(0, 1_000)
  const nuls = [0, 0]
  for (const [i, byte] of sample.entries()) if (byte === 0) nuls[i % 2]! += 1
  const [even, odd] = nuls as [number, number]
  if (even + odd < sample.length * 0.3 || sample.length < 8) return
  const likely = odd > even ? 'utf-16le' : 'utf-16be'
  throw new FileRefused(
    'bad_encoding',
    `The file looks like ${likely} without a byte order mark. Declare the encoding ${likely}, or save the file as UTF-8.`,
  )
}

/** Index of the first byte that is not UTF-8 (RFC 3629), and of the first that begins a character of several; -1: there is none. */
function scanUtf8(chunk: Buffer): { readonly multibyte: number; readonly invalid: number } {
  let multibyte = -1
  let invalid = -1
  for (let i = 0; i < chunk.length && (multibyte < 0 || invalid < 0);) {
    if (chunk[i]! < 0x80) {
      i += 1
      continue
    }
    const length = sequenceLength(chunk[i]!)
    if (chunk[i]! >= 0xc2 && i + length <= chunk.length && isUtf8(chunk.subarray(i, i + length))) {
      if (multibyte < 0) multibyte = i
      i += length
    } else {
      if (invalid < 0) invalid = i
      i += 1
    }
  }
  return { multibyte, invalid }
}

/** -1: there is none. */
function firstUndefined1252(chunk: Buffer): number {
  const found = undefinedBytes.map((byte) => chunk.indexOf(byte)).filter((index) => index >= 0)
  return found.length === 0 ? -1 : Math.min(...found)
}

/** The text, or the index of the first byte that is none. */
type Decode = (chunk: Buffer) => string | number

const decoders: Readonly<Record<FileEncoding, Decode>> = {
  'utf-8': (chunk) => (isUtf8(chunk) ? chunk.toString('utf8') : scanUtf8(chunk).invalid),
  'utf-16le': (chunk) => utf16(chunk),
  'utf-16be': (chunk) => (chunk.length % 2 === 1 ? chunk.length - 1 : utf16(Buffer.from(chunk).swap16())),
  'iso-8859-1': (chunk) => chunk.toString('latin1'),
  'windows-1252': (chunk) => byTable(chunk, (byte) => (byte < 0xa0 ? windows1252[byte - 0x80]! : null)),
  'iso-8859-15': (chunk) => byTable(chunk, (byte) => latin9[byte] ?? null),
}

function utf16(chunk: Buffer): string | number {
  if (chunk.length % 2 === 1) return chunk.length - 1
  const text = chunk.toString('utf16le')
  if (text.isWellFormed()) return text
  for (let i = 0; ; i += 1) {
    if (!text[i]!.isWellFormed() && text.codePointAt(i)! < 0x10000) return 2 * i
    if (text.codePointAt(i)! >= 0x10000) i += 1
  }
}

/** Latin-1 with other characters for some bytes; '': the byte stands for none. */
function byTable(chunk: Buffer, of: (byte: number) => string | null): string | number {
  const text = chunk.toString('latin1')
  const undefinedAt = chunk.findIndex((byte) => byte >= 0x80 && of(byte) === '')
  return undefinedAt >= 0 ? undefinedAt : text.replaceAll(/[\x80-\xff]/g, (char) => of(char.charCodeAt(0)) ?? char)
}

/** 0x80 to 0x9F. */
const windows1252 = [...'€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'].map((char) => (char === ' ' ? '' : char))
const undefinedBytes = windows1252.flatMap((char, i) => (char === '' ? [0x80 + i] : []))
const latin9: Readonly<Record<number, string>> = {
  0xa4: '€',
  0xa6: 'Š',
  0xa8: 'š',
  0xb4: 'Ž',
  0xb8: 'ž',
  0xbc: 'Œ',
  0xbd: 'œ',
  0xbe: 'Ÿ',
}
