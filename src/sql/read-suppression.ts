import { statement } from './statement.ts'
import { suppressionRowColumns, type SuppressionRow } from './suppression-row.ts'

export const readSuppression = statement<[id: string, tenantIds: readonly string[] | null], SuppressionRow>(
  'read_suppression',
  `-- reads a suppressed address by the primary key; $2 = the caller's tenants, null: all
select ${suppressionRowColumns}
  from mdm.aa_email_suppression s
 where s.id = $1 and ($2::uuid[] is null or s.tenant_id = any ($2))`,
)
