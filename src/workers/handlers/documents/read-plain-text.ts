import { open } from 'node:fs/promises'
import { documentLimits } from '../../../jobs/document-limits.ts'
import { decodeText } from '../../../jobs/document-type.ts'
import type { Reading, ReadingOrder } from './reader-protocol.ts'

const titleLines = 40

/** A text as it is, its beginning where it is longer than what is kept. */
export async function readPlainText({ path }: ReadingOrder): Promise<Reading> {
  const most = documentLimits.characters
  const { bytes, more } = await head(path, most)
  const text = decodeText(bytes)
  const lines = text.split(/\r\n|\r|\n|\f/, titleLines).map((line) => ({ text: line, height: 0 }))
  const note = more ? `Only the first ${most.toLocaleString('en')} bytes were read.` : null
  return {
    pages: [{ text, engine: 'text', confidence: null, note }],
    titleHints: { metadata: null, lines },
    engineVersion: null,
  }
}

async function head(path: string, most: number): Promise<{ readonly bytes: Buffer; readonly more: boolean }> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const bytes = Buffer.alloc(Math.min(size, most))
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    return { bytes: bytes.subarray(0, bytesRead), more: size > most }
  } finally {
    await file.close()
  }
}
