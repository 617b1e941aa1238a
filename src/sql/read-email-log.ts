import { emailLogRowColumns, type EmailLogRow } from './email-log-row.ts'
import { statement } from './statement.ts'

export const readEmailLog = statement<[id: string, tenantIds: readonly string[] | null], EmailLogRow>(
  'read_email_log',
  `-- reads a line of the email log by the primary key; $2 = the caller's tenants, null: all
select ${emailLogRowColumns}
  from mdm.aa_email_log l
 where l.id = $1 and ($2::uuid[] is null or l.tenant_id = any ($2))`,
)
