import { open } from 'node:fs/promises'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentLimits } from '../../../jobs/document-limits.ts'
import { imageSize } from '../../../jobs/image-size.ts'
import { createOcr } from './ocr.ts'
import type { Reading, ReadingOrder } from './reader-protocol.ts'

/** Photographs carry much before their size. */
const headerBytes = 4 * 1024 * 1024

/** A picture of a page. Its size is looked at before anybody unpacks it. */
export async function readImage(order: ReadingOrder, onPage: (done: number, total: number) => void): Promise<Reading> {
  const { path, type, tools, folder } = order
  const size = imageSize(type, await beginning(path))
  if (size === null)
    throw new DocumentError(
      'corrupt_document',
      `The file begins like ${type} but has no size. Store it anew from its source.`,
    )
  const pixels = size.width * size.height
  if (pixels > documentLimits.pixels)
    throw new DocumentError(
      'too_large',
      `The image has ${size.width} x ${size.height} pixels; at most ${documentLimits.pixels / 1e6} megapixels are read. Scan it at a lower resolution and store it again.`,
    )
  onPage(0, 1)
  const ocr = createOcr(tools, folder)
  const page = await ocr.recognize(path, null).catch((error: Error) => {
    throw new DocumentError(
      'corrupt_document',
      `The image cannot be unpacked: ${error.message} Store it anew from its source.`,
    )
  })
  onPage(1, 1)
  return {
    pages: [{ ...page, engine: ocr.name, note: page.text.trim() === '' ? 'No text was found in the picture.' : null }],
    titleHints: { metadata: null, lines: page.text.split('\n').map((text) => ({ text, height: 0 })) },
    engineVersion: `${ocr.name} ${ocr.version}`,
  }
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
