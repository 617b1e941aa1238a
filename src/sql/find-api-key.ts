import { statement } from './statement.ts'

export interface ApiKeyRow {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Those of its tenants that are open; null means every tenant. */
  readonly tenantIds: readonly string[] | null
  readonly expiresAt: Date | null
  /** `closed`: it has tenants, and all of them are closed. */
  readonly state: 'valid' | 'expired' | 'revoked' | 'closed'
  /** Whether the last recorded use is more than an hour ago, so that it is due to be recorded again. */
  readonly useIsDue: boolean
}

export const findApiKey = statement<[secretHash: Buffer], ApiKeyRow>(
  'find_api_key',
  `-- reads the key behind a hash, whatever its state, by aa_api_key_secret_hash_key
select k.id, k.name, k.scopes, o.ids as "tenantIds", k.expires_at as "expiresAt",
       case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired'
            when cardinality(k.tenant_ids) > 0 and cardinality(o.ids) = 0 then 'closed' else 'valid' end as state,
       k.last_used_at is null or k.last_used_at < now() - interval '1 hour' as "useIsDue"
  from mdm.aa_api_key k
 cross join lateral (
   select case when k.tenant_ids is not null
               then array(select t.id from mdm.aa_tenant t where t.id = any (k.tenant_ids) and t.status = 'active') end as ids) o
 where k.secret_hash = $1`,
)
