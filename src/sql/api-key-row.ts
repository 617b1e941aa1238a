/** A key for a service, without its secret. */
export interface ApiKeyRow {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Null means every tenant. */
  readonly tenantIds: readonly string[] | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** To the hour. */
  readonly lastUsedAt: Date | null
  readonly revokedAt: Date | null
}

/** The select list that makes an ApiKeyRow of the alias `k`. */
export const apiKeyColumns = `k.id, k.name, k.scopes, k.tenant_ids as "tenantIds", k.created_at as "createdAt", k.expires_at as "expiresAt",
       date_trunc('hour', k.last_used_at, 'UTC') as "lastUsedAt", k.revoked_at as "revokedAt"`

/** Who may see the alias `k`: $1 the caller's tenants, null for all. A key for more tenants than these is not theirs. */
export const apiKeyIsSeen = `($1::uuid[] is null or k.tenant_ids <@ $1)`

/** With whose tenant the journal row of the alias `k` stands: the only one of the key, else the platform. */
export const apiKeyTenant = `case when cardinality(k.tenant_ids) = 1 then k.tenant_ids[1] else (select t.id from mdm.aa_tenant t where t.tenant_key = 'platform') end`
