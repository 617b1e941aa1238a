import { randomBytes } from 'node:crypto'
import type { Scope } from '../jobs/permissions.ts'
import { createApiKey as create } from '../sql/create-api-key.ts'
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
}

/** Makes a key and answers it: the only time that it can be read, the database keeps its hash. */
export async function createApiKey(db: Queryable, input: NewApiKey): Promise<{ id: string; key: string }> {
  const key = apiKeyPrefix + randomBytes(32).toString('base64url')
  const [row] = await create(
    db,
    hashApiKey(key),
    input.name,
    input.scopes,
    input.tenantIds,
    input.expiresAt,
    input.createdBy,
  )
  return { id: row!.id, key }
}
