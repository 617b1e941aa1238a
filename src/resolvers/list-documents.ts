import { badText } from '../jobs/payload.ts'
import { tenantPredicate } from '../jobs/permissions.ts'
import type { DocumentRow, DocumentStatus } from '../sql/document-row.ts'
import { listDocuments as list } from '../sql/list-documents.ts'
import { searchDocuments } from '../sql/search-documents.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

interface DocumentsInput {
  readonly search?: string | null | undefined
  readonly termPath?: string | null | undefined
  readonly status?: readonly DocumentStatus[] | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

const longestSearch = 500

/** Documents of the caller's tenants: newest first, or the best match first when searched. */
export async function listDocuments(
  { search, termPath, status, ...page }: DocumentsInput,
  context: RequestContext,
): Promise<Page<DocumentRow>> {
  const caller = authorize(context, [['READ_PAYLOADS']])
  const plan = planPage(page)
  const problem = badText(`${search ?? ''}${termPath ?? ''}`)
  if (problem !== null) throw unreadable(`A text ${problem}`)
  if ((search?.length ?? 0) > longestSearch)
    throw unreadable(`\`search\` may have at most ${longestSearch} characters.`)
  const tenants = tenantPredicate(caller)
  const { api } = context.deps.pools
  const asked = search?.trim() ?? ''
  if (asked === '') {
    const [before = null] = plan.cursor === null ? [] : decodeCursor('documents', plan.cursor, /^[0-9a-f-]{36}$/)
    const rows = await boundedRead(api, (db) =>
      list(db, tenants, termPath ?? null, status ?? null, before, plan.size + 1),
    )
    return pageOf(plan, rows, ({ id }) => encodeCursor('documents', [id]))
  }
  const order = 'found documents'
  const [rank, id] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[\d.e-]{1,20} [0-9a-f-]{36}$/)
  const before = rank === undefined ? null : Number(rank)
  const found = await boundedRead(api, (db) =>
    searchDocuments(db, tenants, termPath ?? null, status ?? null, asked, before, id ?? null, plan.size + 1),
  )
  return pageOf(plan, found, (row) => encodeCursor(order, [row.rank, row.id]))
}

/** One document by its uuid; null: none of the caller's. */
export async function findDocument(id: string, context: RequestContext): Promise<DocumentRow | null> {
  authorize(context, [['READ_PAYLOADS']])
  return context.loaders.documents.load(id)
}

function unreadable(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The filter cannot be read. ${message}`, { reason: 'INVALID' })
}
