/** How much of a document is read (KINDS section 10). */
export const documentLimits = {
  bytes: 100 * 1024 * 1024,
  pages: 500,
  /** Pages whose text is recognised; the rest is noted. */
  ocrPages: 50,
  /** Of a page as an image. */
  pixels: 40_000_000,
  pageMs: 60_000,
  /** Characters of text that are kept. */
  characters: 5_000_000,
  /** A page of a PDF with less text than this counts as a picture. */
  fewestCharacters: 20,
  dpi: 300,
  /** After the reader had to be killed. */
  reduced: { dpi: 150, ocrPages: 20 },
  /** Of the reader's process and those that it starts, together. */
  memoryBytes: 1_500 * 1024 * 1024,
} as const

/** How a document is read in one run. */
export interface ReadingTerms {
  readonly dpi: number
  readonly ocrPages: number
}

export const fullReading: ReadingTerms = { dpi: documentLimits.dpi, ocrPages: documentLimits.ocrPages }
