import { open, type FileHandle } from 'node:fs/promises'
import { documentLimits } from '../../../jobs/document-limits.ts'
import type { ImageSize } from '../../../jobs/image-size.ts'

/** One page of a TIFF file. */
export interface TiffPage {
  /** Null: the page is damaged, and nothing behind it can be found. */
  readonly size: ImageSize | null
  /**
   * Makes it the first and only page of the file, in place: the library reads no other, and the program all of them in one go, with
   * one time limit for all.
   */
  show(): Promise<void>
}

const tags = { subfile: 254, width: 256, height: 257 } as const
/** A smaller copy of another page, and the mask of one: nothing to read. */
const noPage = 0b101

/**
 * The pages of a TIFF (6.0, section 2: a chain of directories, anywhere in the file). No more than one above the limit are looked for.
 * Null: it has no first page.
 */
export async function openTiff(path: string): Promise<readonly TiffPage[] | null> {
  const file = await open(path, 'r')
  try {
    const { buffer: header, bytesRead } = await file.read(Buffer.alloc(8), 0, 8, 0)
    if (bytesRead < 8) return null
    const number = numbersOf(header[0] === 0x49)
    const pages: TiffPage[] = []
    const seen = new Set<number>()
    for (let at = number.long(header, 4); at !== 0 && pages.length <= documentLimits.pages;) {
      const directory = seen.has(at) ? null : await readDirectory(file, at, number)
      if (directory === null) {
        pages.push({ size: null, show: () => Promise.resolve() })
        break
      }
      seen.add(at)
      if ((directory.subfile & noPage) === 0)
        pages.push({ size: directory.size, show: showing(path, at, directory, number) })
      at = directory.next
    }
    return pages[0]?.size == null ? null : pages
  } finally {
    await file.close()
  }
}

interface Numbers {
  short(bytes: Buffer, at: number): number
  long(bytes: Buffer, at: number): number
  ofLong(value: number): Buffer
}

function numbersOf(little: boolean): Numbers {
  return {
    short: (bytes, at) => (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at)),
    long: (bytes, at) => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)),
    ofLong(value) {
      const bytes = Buffer.alloc(4)
      if (little) bytes.writeUInt32LE(value)
      else bytes.writeUInt32BE(value)
      return bytes
    },
  }
}

interface Directory {
  readonly size: ImageSize
  readonly subfile: number
  /** Where the place of the next directory stands, and that place; 0: this is the last one. */
  readonly nextAt: number
  readonly next: number
}

/** Null: it is not whole, or has no size. */
async function readDirectory(file: FileHandle, at: number, { short, long }: Numbers): Promise<Directory | null> {
  const start = await file.read(Buffer.alloc(2), 0, 2, at)
  if (start.bytesRead < 2) return null
  const entries = short(start.buffer, 0)
  const { buffer: bytes, bytesRead } = await file.read(Buffer.alloc(12 * entries + 4), 0, 12 * entries + 4, at + 2)
  if (bytesRead < bytes.length) return null
  const found = new Map<number, number>()
  for (let entry = 0; entry < 12 * entries; entry += 12) {
    const isShort = short(bytes, entry + 2) === 3
    found.set(short(bytes, entry), isShort ? short(bytes, entry + 8) : long(bytes, entry + 8))
  }
  const [width, height] = [found.get(tags.width), found.get(tags.height)]
  if (width === undefined || height === undefined) return null
  const nextAt = at + 2 + 12 * entries
  return { size: { width, height }, subfile: found.get(tags.subfile) ?? 0, nextAt, next: long(bytes, 12 * entries) }
}

function showing(path: string, at: number, { nextAt }: Directory, { ofLong }: Numbers): TiffPage['show'] {
  return async () => {
    const file = await open(path, 'r+')
    try {
      await file.write(ofLong(at), 0, 4, 4)
      await file.write(ofLong(0), 0, 4, nextAt)
    } finally {
      await file.close()
    }
  }
}
