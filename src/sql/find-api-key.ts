import { statement } from './statement.ts'

export interface ApiKeyRow {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  /** Null means every tenant. */
  readonly tenantIds: readonly string[] | null
  readonly expiresAt: Date | null
  readonly state: 'valid' | 'expired' | 'revoked'
  /** Whether the last recorded use is more than an hour ago, so that it is due to be recorded again. */
  readonly useIsDue: boolean
}

export const findApiKey = statement<[secretHash: Buffer], ApiKeyRow>(
  'find_api_key',
  `-- reads the key behind a hash, whatever its state, by aa_api_key_secret_hash_key
select id, name, scopes, tenant_ids as "tenantIds", expires_at as "expiresAt",
       case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'valid' end as state,
       last_used_at is null or last_used_at < now() - interval '1 hour' as "useIsDue"
  from mdm.aa_api_key
 where secret_hash = $1`,
)
