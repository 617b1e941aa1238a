import { randomBytes } from 'node:crypto'
import type { Scope } from '../jobs/permissions.ts'
import type { ApiKeyRow } from '../sql/api-key-row.ts'
import { createApiKey } from '../sql/create-api-key.ts'
import type { Queryable } from '../sql/statement.ts'
import { apiKeyPrefix, hashApiKey } from './find-api-key.ts'

interface NewApiKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** Ids of tenants; null means every tenant. */
  readonly tenantIds: readonly string[] | null
  /** Null: it never expires. */
  readonly expiresAt: Date | null
  /** Who made it, as the journal keeps identities. */
  readonly createdBy: string
  /** Null: no request asked for it. */
  readonly requestId?: string | null
}

/** Draws a key and writes it down: the answer is the only time that it can be read, the database keeps its hash. */
export async function mintApiKey(db: Queryable, input: NewApiKey): Promise<ApiKeyRow & { readonly key: string }> {
  const key = apiKeyPrefix + randomBytes(32).toString('base64url')
  const [row] = await createApiKey(
    db,
    hashApiKey(key),
    input.name,
    input.scopes,
    input.tenantIds,
    input.expiresAt,
    input.createdBy,
    input.requestId ?? null,
  )
  return { ...row!, key }
}
