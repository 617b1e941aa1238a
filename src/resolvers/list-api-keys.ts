import { tenantPredicate } from '../jobs/permissions.ts'
import type { ApiKeyRow } from '../sql/api-key-row.ts'
import { listApiKeys as list } from '../sql/list-api-keys.ts'
import { readApiKey } from '../sql/read-api-key.ts'
import { authorize, type RequestContext } from './context.ts'

const mostKeys = 1_000

/** Keys for the caller's tenants and for no others, newest first; revoked ones too. */
export async function listApiKeys(context: RequestContext): Promise<ApiKeyRow[]> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  return list(context.deps.pools.api, tenantPredicate(caller), mostKeys)
}

/** One key by its uuid; null: none of the caller's. */
export async function findOwnApiKey(id: string, context: RequestContext): Promise<ApiKeyRow | null> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  return (await readApiKey(context.deps.pools.api, tenantPredicate(caller), id))[0] ?? null
}
