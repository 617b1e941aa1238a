import { statement } from './statement.ts'

export const recordApiKeyUse = statement<[id: string], never>(
  'record_api_key_use',
  `-- notes that a key was used, at most once an hour, by the primary key
update mdm.aa_api_key
   set last_used_at = now()
 where id = $1
   and (last_used_at is null or last_used_at < now() - interval '1 hour')`,
)
