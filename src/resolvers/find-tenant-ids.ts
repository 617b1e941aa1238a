import { findTenantIds as find } from '../sql/find-tenant-ids.ts'
import type { Queryable } from '../sql/statement.ts'

/** The tenants that a token names by key or id; names of no tenant are ignored. */
export interface NamedTenants {
  readonly open: ReadonlySet<string>
  readonly closed: ReadonlySet<string>
}

/** Sorts the tenants of a token: of the closed ones nobody sees anything but who acts for all. */
export async function findTenantIds(db: Queryable, names: readonly string[]): Promise<NamedTenants> {
  const rows = names.length === 0 ? [] : await find(db, names)
  const idsOf = (open: boolean) => new Set(rows.filter((row) => row.open === open).map(({ id }) => id))
  return { open: idsOf(true), closed: idsOf(false) }
}
