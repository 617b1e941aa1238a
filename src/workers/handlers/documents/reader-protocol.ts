import type { DocumentErrorCode } from '../../../jobs/document-error.ts'
import type { ReadingTerms } from '../../../jobs/document-limits.ts'
import type { DocumentType } from '../../../jobs/document-type.ts'
import type { TitleHints } from '../../../jobs/derive-title.ts'

/** The programs and data that text is recognised with; found once for the process. */
export interface OcrTools {
  /** Paths; null: not there or not wanted, then tesseract.js and the PDF library do it. */
  readonly tesseract: string | null
  readonly pdftoppm: string | null
  /** Of the program; null: it is not there. */
  readonly tesseractVersion: string | null
  readonly languages: readonly string[]
  /** Folder with `<language>.traineddata.gz` of each, for tesseract.js. */
  readonly dataFolder: string
}

/** What a reader is to do. */
export interface ReadingOrder {
  /** A copy of the archived file, and a folder for what the reader writes. */
  readonly path: string
  readonly folder: string
  readonly type: DocumentType
  readonly terms: ReadingTerms
  readonly tools: OcrTools
}

export interface ReadPage {
  readonly text: string
  /** `unpdf`, `tesseract`, `tesseract.js` or `text`; null: nothing could read it. */
  readonly engine: string | null
  /** 0 to 1, of recognised text. */
  readonly confidence: number | null
  /** Why something of it is missing. */
  readonly note: string | null
}

export interface Reading {
  readonly pages: readonly ReadPage[]
  readonly titleHints: TitleHints
  /** Of the engines that were used, e.g. `pdf.js 5.4, tesseract 5.3.0`. */
  readonly engineVersion: string | null
}

/** What a reader tells. */
export type ReaderMessage =
  | { readonly type: 'page'; readonly done: number; readonly total: number }
  | { readonly type: 'read'; readonly reading: Reading }
  | { readonly type: 'refused'; readonly code: DocumentErrorCode; readonly message: string }
  | { readonly type: 'failed'; readonly message: string }
