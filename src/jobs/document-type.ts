/** What a file is, by its first bytes; what its sender says of it is not believed. */
export type DocumentType =
  | 'application/pdf'
  | 'image/png'
  | 'image/jpeg'
  | 'image/tiff'
  | 'image/gif'
  | 'image/bmp'
  | 'image/webp'
  | 'text/plain'

/** As many bytes as are looked at. */
export const documentHeadBytes = 64 * 1024

const magics: readonly (readonly [type: DocumentType, bytes: string, at?: number])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['image/gif', 'GIF8'],
  ['image/webp', 'WEBP', 8],
  ['image/bmp', 'BM'],
]

/** The type of what begins with `head`; null: none that is known here. */
export function documentType(head: Buffer): DocumentType | null {
  // PDF readers look for the header anywhere in the first kilobyte.
  if (head.subarray(0, 1024).includes('%PDF-')) return 'application/pdf'
  for (const [type, bytes, at = 0] of magics) {
    if (head.toString('latin1', at, at + bytes.length) === bytes && (type !== 'image/bmp' || isBitmap(head)))
      return type
  }
  return isText(head) ? 'text/plain' : null
}

/** Two letters begin many texts too. */
function isBitmap(head: Buffer): boolean {
  return head.length > 26 && head.readUInt32LE(6) === 0 && head.readUInt32LE(14) <= 124
}

function isText(head: Buffer): boolean {
  if (head.length === 0) return false
  if (encodingByMark(head) !== null) return true
  let controls = 0
  for (const byte of head) {
    if (byte === 0) return false
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13) controls += 1
  }
  return controls <= head.length / 100
}

/** By the byte order mark; null: there is none. */
function encodingByMark(head: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' | null {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8'
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : null
}

/** A text as UTF-8 or UTF-16 where it says or is so, else as Windows-1252, which takes anything. */
export function decodeText(bytes: Buffer): string {
  const marked = encodingByMark(bytes)
  if (marked !== null) return new TextDecoder(marked).decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}
