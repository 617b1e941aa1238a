import { apiKeyColumns, apiKeyIsSeen, type ApiKeyRow } from './api-key-row.ts'
import { statement } from './statement.ts'

export const listApiKeys = statement<[tenantIds: readonly string[] | null, limit: number], ApiKeyRow>(
  'list_api_keys',
  `-- reads keys, newest first, on the primary key
select ${apiKeyColumns}
  from mdm.aa_api_key k
 where ${apiKeyIsSeen}
 order by k.id desc
 limit $2::int`,
)
