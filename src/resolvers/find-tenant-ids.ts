import { findTenantIds as find } from '../sql/find-tenant-ids.ts'
import type { Queryable } from '../sql/statement.ts'

/** The ids of the tenants that a token names by key or id; names of no tenant are ignored. */
export async function findTenantIds(db: Queryable, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const rows = await find(db, names)
  return new Set(rows.map(({ id }) => id))
}
