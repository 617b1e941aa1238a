import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TitleHints } from '../../../jobs/derive-title.ts'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentLimits, fullReading, type ReadingTerms } from '../../../jobs/document-limits.ts'
import type { WormArchive } from '../../../objects/worm-archive.ts'
import type { BegunDocument } from '../../../sql/begin-document.ts'
import { copyFromArchive, typeOfFile } from './copy-from-archive.ts'
import type { OcrTools, Reading } from './reader-protocol.ts'
import { runReader } from './run-reader.ts'

export interface ReadDocumentDeps {
  readonly archive: WormArchive
  readonly tools: () => Promise<OcrTools>
  /** Private, for copies and what readers write; emptied again. */
  readonly folder: string
}

export interface DocumentContent {
  readonly text: string
  readonly titleHints: TitleHints
  readonly pageCount: number
  readonly engine: string
  readonly engineVersion: string | null
  readonly confidence: number | null
  readonly pages: readonly PageFacts[]
  /** What is missing, for people. */
  readonly notes: readonly string[]
}

interface PageFacts {
  readonly page: number
  readonly characters: number
  readonly engine: string | null
  readonly confidence?: number
  readonly note?: string
}

interface Run {
  readonly signal: AbortSignal
  readonly onPage: (done: number, total: number) => void
}

/** Reads an archived document. Throws DocumentError where nobody can, ReaderKilled where less of it may work. */
export async function readDocument(deps: ReadDocumentDeps, begun: BegunDocument, run: Run): Promise<DocumentContent> {
  const sizeBytes = Number(begun.sizeBytes)
  if (sizeBytes > documentLimits.bytes)
    throw new DocumentError(
      'too_large',
      `The file has ${sizeBytes} bytes; at most ${documentLimits.bytes} (100 MiB) are read. Split it and store the parts.`,
    )
  const folder = await mkdtemp(join(deps.folder, 'document-'))
  try {
    const path = join(folder, 'original')
    await copyFromArchive(deps.archive, { ...begun, sizeBytes }, path, run.signal)
    const type = await typeOfFile(path, begun.mimeType)
    const terms: ReadingTerms = begun.readerKills === 0 ? fullReading : documentLimits.reduced
    const reading = await runReader({ path, folder, type, terms, tools: await deps.tools() }, run)
    return contentOf(reading)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function contentOf({ pages, titleHints, engineVersion }: Reading): DocumentContent {
  const engines = [...new Set(pages.flatMap(({ engine }) => engine ?? []))].toSorted()
  const recognized = pages.filter(({ confidence }) => confidence !== null)
  const whole = storable(pages.map(({ text }) => text.trimEnd()).join('\n\f\n'))
  const text = whole.slice(0, documentLimits.characters).toWellFormed()
  const cut = `Only the first ${documentLimits.characters.toLocaleString('en')} characters are kept.`
  return {
    text,
    titleHints: {
      metadata: titleHints.metadata === null ? null : storable(titleHints.metadata),
      lines: titleHints.lines.slice(0, 100).map((line) => ({ ...line, text: storable(line.text.slice(0, 500)) })),
    },
    pageCount: pages.length,
    engine: engines.join('+') || 'none',
    engineVersion,
    confidence:
      recognized.length === 0
        ? null
        : recognized.reduce((sum, { confidence }) => sum + confidence!, 0) / recognized.length,
    pages: pages.map(({ text: own, engine, confidence, note }, index) => ({
      page: index + 1,
      characters: own.length,
      engine,
      ...(confidence !== null && { confidence }),
      ...(note !== null && { note: storable(note).slice(0, 500) }),
    })),
    notes: [...notesOf(pages), ...(whole.length > text.length ? [cut] : [])],
  }
}

const mostNotes = 20

/** Equal ones of several pages once. */
function notesOf(pages: Reading['pages']): string[] {
  const byNote = Map.groupBy(
    pages.map(({ note }, index) => ({ note, page: index + 1 })).filter(({ note }) => note !== null),
    ({ note }) => note!,
  )
  return [...byNote]
    .slice(0, mostNotes)
    .map(
      ([note, on]) =>
        `${on.length === 1 ? `Page ${on[0]!.page}` : `${on.length} pages from ${on[0]!.page} on`}: ${storable(note)}`,
    )
}

/** PostgreSQL stores no NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed()
}
