import { tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { ImportRow } from '../sql/import-row.ts'
import { readImports } from '../sql/read-imports.ts'
import type { RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

/** What a mutation on one import answers. */
export interface ImportResult {
  readonly import: ImportRow | null
  readonly errors: readonly UserError[]
}

export function noImport(named: string): ImportResult {
  const message = 'There is no such import among your tenants.'
  return { import: null, errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id: named }] }
}

/** The import as it is now; `refusal` makes the sentence where it could not be changed from its status. */
export async function importResult(
  id: string,
  named: string,
  { deps }: RequestContext,
  caller: Caller,
  refusal: ((status: string) => string) | null,
): Promise<ImportResult> {
  const [row] = await readImports(deps.pools.api, [id], tenantPredicate(caller))
  if (row === undefined) return noImport(named)
  if (refusal === null) return { import: row, errors: [] }
  return { import: row, errors: [invalid(['id'], refusal(row.status.toUpperCase()))] }
}
