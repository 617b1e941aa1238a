import { open } from 'node:fs/promises'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentLimits } from '../../../jobs/document-limits.ts'
import type { DocumentType } from '../../../jobs/document-type.ts'
import { imageSize, type ImageSize } from '../../../jobs/image-size.ts'
import { createOcr, notRecognized, type Ocr } from './ocr.ts'
import type { ReadPage, Reading, ReadingOrder } from './reader-protocol.ts'
import { openTiff } from './tiff-pages.ts'

/** Photographs carry much before their size. */
const headerBytes = 4 * 1024 * 1024

interface Picture {
  /** Null: it cannot be found. */
  readonly size: ImageSize | null
  /** Makes it the one that is read from the path. */
  show(): Promise<void>
}

/**
 * A picture of a page, or several in a TIFF. The size of each is looked at before anybody unpacks it. A page that cannot be read is
 * noted; where none can, the document is refused.
 */
export async function readImage(order: ReadingOrder, onPage: (done: number, total: number) => void): Promise<Reading> {
  const { path, type, tools, folder, terms } = order
  const pictures = type === 'image/tiff' ? await openTiff(path) : await onePicture(type, path)
  if (pictures === null)
    throw new DocumentError(
      'corrupt_document',
      `The file begins like ${type} but has no size. Store it anew from its source.`,
    )
  const total = pictures.length
  if (total > documentLimits.pages)
    throw new DocumentError(
      'too_large',
      `The image has more than ${documentLimits.pages} pages, which is the most that is read. Split it and store the parts.`,
    )
  const ocr = createOcr(tools, folder)
  const pages: ReadPage[] = []
  let refusal: DocumentError | null = null
  for (const [index, picture] of pictures.entries()) {
    onPage(index, total)
    if (index >= terms.ocrPages) {
      pages.push({ text: '', engine: null, confidence: null, note: notRecognized(terms.ocrPages) })
      continue
    }
    try {
      pages.push(await readPicture(picture, path, ocr))
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error
      refusal ??= error
      pages.push({ text: '', engine: null, confidence: null, note: error.message })
    }
  }
  if (refusal !== null && pages.every(({ engine }) => engine === null)) throw refusal
  onPage(total, total)
  return {
    pages,
    titleHints: { metadata: null, lines: pages[0]!.text.split('\n').map((text) => ({ text, height: 0 })) },
    engineVersion: `${ocr.name} ${ocr.version}`,
  }
}

async function readPicture({ size, show }: Picture, path: string, ocr: Ocr): Promise<ReadPage> {
  if (size === null) throw new DocumentError('corrupt_document', 'The page is damaged. Store it anew from its source.')
  const { width, height } = size
  if (width * height > documentLimits.pixels)
    throw new DocumentError(
      'too_large',
      `The image has ${width} x ${height} pixels; at most ${documentLimits.pixels / 1e6} megapixels are read. Scan it at a lower resolution and store it again.`,
    )
  await show()
  const found = await ocr.recognize(path, null).catch((error: Error) => {
    throw new DocumentError(
      'corrupt_document',
      `The image cannot be unpacked: ${error.message} Store it anew from its source.`,
    )
  })
  return { ...found, engine: ocr.name, note: found.text.trim() === '' ? 'No text was found in the picture.' : null }
}

async function onePicture(type: DocumentType, path: string): Promise<readonly Picture[] | null> {
  const size = imageSize(type, await beginning(path))
  return size === null ? null : [{ size, show: () => Promise.resolve() }]
}

async function beginning(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const bytes = Buffer.alloc(headerBytes)
    const { bytesRead } = await file.read(bytes, 0, headerBytes, 0)
    return bytes.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
