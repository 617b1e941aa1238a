import { statement } from './statement.ts'
import { suppressionRowColumns, type SuppressionRow } from './suppression-row.ts'

type Params = [tenantIds: readonly string[] | null, search: string | null, beforeId: string | null, limit: number]

export const listSuppressions = statement<Params, SuppressionRow>(
  'list_suppressions',
  `-- reads suppressed addresses, newest first, on the primary key; $1 = tenants (that of the platform: for all), null: every one; $2 = part of the address
select ${suppressionRowColumns}
  from mdm.aa_email_suppression s
 where ($1::uuid[] is null or s.tenant_id = any ($1))
   and ($2::text is null or strpos(s.address, lower($2)) > 0)
   and ($3::uuid is null or s.id < $3)
 order by s.id desc
 limit $4::int`,
)
