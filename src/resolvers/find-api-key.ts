import { createHash } from 'node:crypto'
import { scopes, type Caller, type Scope } from '../jobs/permissions.ts'
import { findApiKey as find, type ApiKeyRow } from '../sql/find-api-key.ts'
import { recordApiKeyUse } from '../sql/record-api-key-use.ts'
import type { Queryable } from '../sql/statement.ts'

/** What a key is good for: a caller, or nothing because it is unknown, revoked, past its time or of closed tenants alone. */
export type ApiKeyAnswer =
  | { readonly state: 'valid'; readonly caller: Caller }
  | { readonly state: 'unknown' | 'revoked' | 'expired' | 'closed' }

/** What every key begins with, so that it is known from a JWT, and found by scanners of leaked secrets. */
export const apiKeyPrefix = 'sw_'

/** The form in which the database keeps a key. */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Looks a key up by its hash; its use is recorded at most once an hour. */
export async function findApiKey(db: Queryable, key: string): Promise<ApiKeyAnswer> {
  const [row] = await find(db, hashApiKey(key))
  if (row === undefined) return { state: 'unknown' }
  if (row.state !== 'valid') return { state: row.state }
  // A use that cannot be noted is no reason to refuse the caller.
  if (row.useIsDue) void recordApiKeyUse(db, row.id).catch(() => undefined)
  return { state: 'valid', caller: callerOf(row) }
}

function callerOf({ id, name, scopes: held, tenantIds, expiresAt }: ApiKeyRow): Caller {
  return {
    principal: { id, name, kind: 'SERVICE' },
    scopes: new Set(held.filter((scope): scope is Scope => (scopes as readonly string[]).includes(scope))),
    tenantIds: tenantIds === null ? 'all' : new Set(tenantIds),
    expiresAt,
  }
}
