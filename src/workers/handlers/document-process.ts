import type { Pool } from 'pg'
import { deriveTitle, type DerivedTitle, type TitleHints } from '../../jobs/derive-title.ts'
import { detectLanguage, type DocumentLanguage } from '../../jobs/detect-language.ts'
import { DocumentError } from '../../jobs/document-error.ts'
import { documentSteps, type DocumentProcessPayload, type DocumentStep } from '../../jobs/document-process-payload.ts'
import { NeverRetry } from '../../jobs/errors.ts'
import { beginDocument, type BegunDocument } from '../../sql/begin-document.ts'
import { finishDocument } from '../../sql/finish-document.ts'
import { indexDocument } from '../../sql/index-document.ts'
import { listDocumentTerms } from '../../sql/list-document-terms.ts'
import { publishDocumentEvent } from '../../sql/publish-document-event.ts'
import { readDocumentText } from '../../sql/read-document-text.ts'
import { recordDocumentProcessed } from '../../sql/record-document-processed.ts'
import { recordReaderKill } from '../../sql/record-reader-kill.ts'
import { replaceAutoTerms } from '../../sql/replace-auto-terms.ts'
import { saveDocumentText } from '../../sql/save-document-text.ts'
import type { MatchedTerm } from '../../sql/taxonomy-parts.ts'
import type { Handler, HandlerContext, JobTransaction } from '../handler.ts'
import { matchTerms } from './documents/match-terms.ts'
import { readDocument, type DocumentContent, type ReadDocumentDeps } from './documents/read-document.ts'
import { ReaderKilled } from './documents/run-reader.ts'
import { eventPayload, runWorkflows } from './documents/run-workflows.ts'
import { statementsIn } from './statements-in.ts'

export interface DocumentProcessDeps extends ReadDocumentDeps {
  readonly pool: Pool
}

type Context = HandlerContext<DocumentProcessPayload>

/** All that was found out, before anything of it is written. */
interface Findings {
  readonly begun: BegunDocument
  /** Null: it was not read in this run. */
  readonly content: DocumentContent | null
  readonly text: string
  readonly language: DocumentLanguage | null
  readonly title: DerivedTitle | null
  /** Null: no rules were asked. */
  readonly terms: readonly MatchedTerm[] | null
}

/** After the second time a document is given up. */
const mostKills = 2

/**
 * Reads an archived document and writes what follows from it: text, title, terms, and what workflows do. The archive is only read.
 * A run may be repeated: all that it writes is replaced by the next one, and workflows are remembered as they happen.
 */
export function createDocumentProcess(deps: DocumentProcessDeps): Handler<DocumentProcessPayload> {
  return async (context) => {
    const { payload, job } = context
    const steps: ReadonlySet<DocumentStep> = new Set(payload.steps ?? documentSteps)
    const [begun] = await context.transaction((tx) =>
      beginDocument(statementsIn(tx), payload.document_id, job.tenantId, job.id),
    )
    if (begun === undefined) throw new NeverRetry(missing(payload.document_id))
    const findings = await find(deps, context, begun, steps)
    return {
      result: resultOf(findings),
      commit: (tx) => write(tx, context, findings, steps),
    }
  }
}

async function find(
  deps: DocumentProcessDeps,
  context: Context,
  begun: BegunDocument,
  steps: ReadonlySet<DocumentStep>,
): Promise<Findings> {
  const { payload, job, log } = context
  const stored = steps.has('text') ? undefined : (await readDocumentText(deps.pool, payload.document_id))[0]
  const content = stored === undefined ? await read(deps, context, begun) : null
  for (const note of content?.notes ?? []) log.warn(note)
  const text = content?.text ?? stored!.content
  const language = detectLanguage(text)
  const title = steps.has('title') ? titleOf(payload, begun, content?.titleHints ?? stored!.titleHints) : null
  const matched = {
    tenantId: job.tenantId,
    language,
    content: text,
    title: title?.title ?? begun.title,
    filename: begun.filename,
  }
  const terms = steps.has('taxonomy') ? await matchTerms(deps.pool, matched, log) : null
  return { begun, content, text, language, title, terms }
}

function titleOf(
  { derive_title: derive }: DocumentProcessPayload,
  begun: BegunDocument,
  hints: TitleHints,
): DerivedTitle | null {
  return derive && begun.titleSource !== 'user' ? deriveTitle(hints, begun.filename) : null
}

async function read(deps: DocumentProcessDeps, context: Context, begun: BegunDocument): Promise<DocumentContent> {
  const { payload, signal } = context
  const onPage = (done: number, total: number): void => {
    const message = done === total ? `${total} of ${total} pages read` : `page ${done + 1} of ${total}`
    // A report that is lost is followed by the next one.
    context.progress({ done, total, message }).catch(() => undefined)
  }
  try {
    return await readDocument(deps, begun, { signal, onPage })
  } catch (error) {
    if (error instanceof DocumentError) {
      if (error.code === 'integrity_violation') await recordViolation(context, error)
      throw new NeverRetry(error)
    }
    if (error instanceof ReaderKilled) throw await afterKill(context, payload.document_id, error)
    throw error
  }
}

/** Once more with less; then it is the document's fault. */
async function afterKill(context: Context, documentId: string, error: ReaderKilled): Promise<Error> {
  const [counted] = await context.transaction((tx) => recordReaderKill(statementsIn(tx), documentId))
  if ((counted?.readerKills ?? mostKills) < mostKills) return error
  const message = `${error.message} It was tried twice, at last with 150 dots per inch and 20 pages at most. Store a simpler form of it.`
  return new NeverRetry(new DocumentError('unreadable_document', message, { cause: error }))
}

async function recordViolation(context: Context, error: DocumentError): Promise<void> {
  const entry = { document_id: context.payload.document_id, outcome: error.code, message: error.message }
  await context.transaction((tx) => recordDocumentProcessed(statementsIn(tx), context.job.id, JSON.stringify(entry)))
}

/** Everything in the transaction in which the job becomes done. */
async function write(
  tx: JobTransaction,
  { payload, job }: Context,
  { begun, content, text, language, title, terms }: Findings,
  steps: ReadonlySet<DocumentStep>,
): Promise<void> {
  const db = statementsIn(tx)
  const id = payload.document_id
  const pageCount = content?.pageCount ?? begun.pageCount
  const [finished] = await finishDocument(db, id, language, pageCount, title?.title ?? null, title?.source ?? null)
  if (finished === undefined) throw new NeverRetry(missing(id))
  if (content !== null) {
    const { engine, engineVersion, confidence, pages, titleHints } = content
    await saveDocumentText(
      db,
      id,
      engine,
      engineVersion,
      confidence,
      text,
      JSON.stringify(pages),
      JSON.stringify(titleHints),
    )
  }
  if (terms !== null) {
    const column = <Key extends keyof MatchedTerm>(key: Key) => terms.map((term) => term[key])
    await replaceAutoTerms(db, id, column('termId'), column('ruleId'), column('score'))
  }
  const before = {
    id,
    title: finished.title,
    filename: begun.filename,
    text,
    contentType: begun.mimeType,
    sizeBytes: Number(begun.sizeBytes),
    pageCount,
    language,
    terms: (await listDocumentTerms(db, id)).map(({ path }) => path),
  }
  const document = steps.has('workflows') ? await runWorkflows(tx, job.tenantId, before) : before
  await indexDocument(db, id)
  const entry = {
    document_id: id,
    outcome: 'processed',
    ...(content !== null && { engine: content.engine }),
    page_count: pageCount,
  }
  await recordDocumentProcessed(db, job.id, JSON.stringify(entry))
  await publishDocumentEvent(db, job.tenantId, 'document.processed', id, JSON.stringify(eventPayload(document)))
}

function missing(id: string): DocumentError {
  return new DocumentError('missing_document', `The tenant of this job has no document ${id}.`)
}

function resultOf({ begun, content, text, language, title, terms }: Findings): Record<string, unknown> {
  return {
    status: 'processed',
    pages: content?.pageCount ?? begun.pageCount,
    engine: content?.engine ?? null,
    recognizedPages: content?.pages.filter(({ confidence }) => confidence !== undefined).length ?? 0,
    confidence: content?.confidence ?? null,
    characters: text.length,
    language,
    titleSource: title?.source ?? begun.titleSource,
    terms: terms?.map(({ path }) => path).slice(0, 100) ?? null,
    notes: content?.notes ?? [],
  }
}
