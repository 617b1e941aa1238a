import { tenantPredicate } from '../jobs/permissions.ts'
import type { ImportRow } from '../sql/import-row.ts'
import { listImports as read } from '../sql/list-imports.ts'
import { readImports } from '../sql/read-imports.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page, type PageArgs } from './page.ts'

const order = 'imports'

/** Imports of the caller's tenants, newest first. */
export async function listImports(
  page: Pick<PageArgs, 'first' | 'after'>,
  context: RequestContext,
): Promise<Page<ImportRow>> {
  const caller = authorize(context, [['READ_JOBS']])
  const plan = planPage(page)
  const [before = null] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[0-9a-f-]{36}$/)
  const rows = await boundedRead(context.deps.pools.api, (db) =>
    read(db, tenantPredicate(caller), before, plan.size + 1),
  )
  return pageOf(plan, rows, ({ id }) => encodeCursor(order, [id]))
}

/** One import by its uuid; null: none of the caller's. */
export async function findImport(id: string, context: RequestContext): Promise<ImportRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readImports(context.deps.pools.api, [id], tenantPredicate(caller)))[0] ?? null
}

const urlForMs = 5 * 60 * 1_000

/** Where the rows with their outcome can be downloaded for five minutes. Null: there is none yet, or the caller may not read content. */
export async function importResultUrl(row: ImportRow, { caller, deps }: RequestContext): Promise<string | null> {
  const { resultKey, objectStore, filename, id } = row
  if (resultKey === null || caller?.scopes.has('READ_PAYLOADS') !== true) return null
  // In another instance's folder: that one gives its URL.
  if (objectStore !== deps.objects.store.id) return null
  const name = `${filename?.replace(/\.[^.]*$/, '') ?? id}-result.csv`
  return deps.objects.links.download(resultKey, {
    filename: name,
    contentType: 'text/csv; charset=utf-8',
    expiresInMs: urlForMs,
  })
}
