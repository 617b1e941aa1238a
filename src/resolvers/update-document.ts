import type { PoolClient } from 'pg'
import { badText } from '../jobs/payload.ts'
import { findTaxonomyTerms } from '../sql/find-taxonomy-terms.ts'
import { indexDocument } from '../sql/index-document.ts'
import { setDocumentTitle } from '../sql/set-document-title.ts'
import { setManualTerms } from '../sql/set-manual-terms.ts'
import {
  changeDocument,
  journalChange,
  readAgain,
  type DocumentResult,
  type LockedDocument,
} from './change-document.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface UpdateDocumentInput {
  readonly id: string
  /** Null: derive it; missing: leave it. */
  readonly title?: string | null | undefined
  /** All that are given by hand; null or missing: leave them. */
  readonly termPaths?: readonly string[] | null | undefined
}

const longestTitle = 500
const mostTerms = 100

/** A person's title and terms. Without a title the document is read again, to derive one. */
export async function updateDocument(
  { id, title, termPaths }: UpdateDocumentInput,
  context: RequestContext,
): Promise<DocumentResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const errors = [...badTitle(title), ...badPaths(termPaths)]
  if (errors.length > 0) return { document: null, errors }
  return changeDocument(id, context, caller, async (tx, document) => {
    const missing = termPaths == null ? [] : await giveTerms(tx, document, termPaths)
    if (missing.length > 0) return missing
    let jobId: string | null = null
    if (title !== undefined) {
      await setDocumentTitle(tx, document.id, title?.trim() ?? null)
      await indexDocument(tx, document.id)
    }
    if (title === null) {
      const asked = await readAgain(tx, document, true, context, caller)
      if (asked.errors.length > 0) return asked.errors
      jobId = asked.jobId
    }
    const changed = [...(title === undefined ? [] : ['title']), ...(termPaths == null ? [] : ['terms'])]
    if (changed.length > 0) await journalChange(tx, document, context, caller, { change: changed.join(', '), jobId })
    return []
  })
}

async function giveTerms(tx: PoolClient, document: LockedDocument, paths: readonly string[]): Promise<UserError[]> {
  const found = await findTaxonomyTerms(tx, document.tenantId, paths)
  const known = new Map(found.map((term) => [term.path, term.id]))
  const missing = paths.flatMap((path, index) => (known.has(path) ? [] : [noSuchTerm(path, index)]))
  if (missing.length === 0) await setManualTerms(tx, document.id, [...known.values()])
  return missing
}

function noSuchTerm(path: string, index: number): UserError {
  const message = 'The tenant of this document has no such term. setTaxonomyTerm makes one.'
  return { type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['termPaths', String(index)], id: path }
}

function badTitle(title: string | null | undefined): UserError[] {
  if (title == null) return []
  if (title.trim() === '') return [invalid(['title'], 'title must not be empty; null lets it be derived.')]
  if ([...title].length > longestTitle)
    return [invalid(['title'], `title must have at most ${longestTitle} characters.`)]
  const problem = badText(title)
  return problem === null ? [] : [invalid(['title'], `title ${problem}`)]
}

function badPaths(paths: readonly string[] | null | undefined): UserError[] {
  if (paths == null) return []
  if (paths.length > mostTerms) return [invalid(['termPaths'], `At most ${mostTerms} terms are allowed.`)]
  return paths.flatMap((path, index) => {
    const problem = badText(path)
    return problem === null ? [] : [invalid(['termPaths', String(index)], `The path ${problem}`)]
  })
}
