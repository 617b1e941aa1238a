import type { DocumentType } from './document-type.ts'

export interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Width and height from the header of an image of one page, before anybody unpacks it; null: they cannot be found. */
export function imageSize(type: DocumentType, bytes: Buffer): ImageSize | null {
  try {
    return readers[type]?.(bytes) ?? null
  } catch {
    // The file ends before its header does.
    return null
  }
}

const readers: Readonly<Partial<Record<DocumentType, (bytes: Buffer) => ImageSize | null>>> = {
  'image/png': (bytes) => ({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }),
  'image/gif': (bytes) => ({ width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }),
  'image/bmp': (bytes) => ({ width: Math.abs(bytes.readInt32LE(18)), height: Math.abs(bytes.readInt32LE(22)) }),
  'image/webp': webpSize,
  'image/jpeg': jpegSize,
}

/** ITU T.81: the first start-of-frame segment holds the size. */
function jpegSize(bytes: Buffer): ImageSize | null {
  let at = 2
  while (at < bytes.length) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at += 1
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

/** RFC 9649. */
function webpSize(bytes: Buffer): ImageSize | null {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21)
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    default:
      return null
  }
}
