import { apiKeyColumns, apiKeyIsSeen, type ApiKeyRow } from './api-key-row.ts'
import { statement } from './statement.ts'

export const readApiKey = statement<[tenantIds: readonly string[] | null, id: string], ApiKeyRow>(
  'read_api_key',
  `-- reads one key, by the primary key
select ${apiKeyColumns}
  from mdm.aa_api_key k
 where ${apiKeyIsSeen} and k.id = $2::uuid`,
)
