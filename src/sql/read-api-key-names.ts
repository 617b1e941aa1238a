import { statement } from './statement.ts'

/** The names of keys that may act for one of the caller's tenants; null: of any key. */
export const readApiKeyNames = statement<
  [ids: readonly string[], tenantIds: readonly string[] | null],
  { readonly id: string; readonly name: string }
>(
  'read_api_key_names',
  `-- reads how keys are called, for those who see what they did; by the primary key
select k.id, k.name
  from mdm.aa_api_key k
 where k.id = any ($1::uuid[]) and ($2::uuid[] is null or k.tenant_ids is null or k.tenant_ids && $2)`,
)
