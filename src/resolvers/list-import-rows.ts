import { rowErrorMessage } from '../jobs/import-errors.ts'
import { parseExactly } from '../jobs/parse-exactly.ts'
import type { ImportRow, ImportRowStatus } from '../sql/import-row.ts'
import { listImportRows as read, type ListedImportRow } from '../sql/list-import-rows.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page, type PageArgs } from './page.ts'

interface ImportRowsInput extends Pick<PageArgs, 'first' | 'after'> {
  readonly status?: readonly ImportRowStatus[] | null | undefined
}

export interface ShownRowError {
  readonly attribute: string | null
  readonly code: string
  readonly message: string
}

/** Rows of an import that the caller has already found, in order of the file. */
export async function listImportRows(
  { id }: ImportRow,
  { status, ...page }: ImportRowsInput,
  context: RequestContext,
): Promise<Page<ListedImportRow>> {
  authorize(context, [['READ_JOBS']])
  const plan = planPage(page)
  const order = `import_rows ${id}`
  const [after = '0'] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^\d{1,9}$/)
  const rows = await boundedRead(context.deps.pools.api, (db) =>
    read(db, id, status ?? null, Number(after), plan.size + 1),
  )
  return pageOf(plan, rows, ({ rowNo }) => encodeCursor(order, [rowNo]))
}

/** A row as it stood in the file; without READ_PAYLOADS its columns alone. */
export function shownRaw({ rawText }: ListedImportRow, { caller }: RequestContext): unknown {
  const raw = parseExactly(rawText)
  if (caller?.scopes.has('READ_PAYLOADS')) return raw
  return Object.fromEntries(Object.keys(raw as object).map((name) => [name, '[redacted]']))
}

/** What is wrong with a row. What the database said of it may hold values: that is for those who may read them. */
export function shownErrors({ errors }: ListedImportRow, { caller }: RequestContext): ShownRowError[] {
  const whole = caller?.scopes.has('READ_PAYLOADS') === true
  return (errors ?? []).map(({ attr, code, detail }) => ({
    attribute: attr ?? null,
    code,
    message: rowErrorMessage({ attr, code, ...(whole && detail !== undefined && { detail }) }),
  }))
}
