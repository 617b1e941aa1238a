import { statement } from './statement.ts'

export const hasApiKey = statement<[], { there: boolean }>(
  'has_api_key',
  `-- reads whether any key is good now; walks aa_api_key, which is small
select exists (select from mdm.aa_api_key where revoked_at is null and (expires_at is null or expires_at > now())) as there`,
)
