import { emailTemplateRowColumns, type EmailTemplateRow } from './email-template-row.ts'
import { statement } from './statement.ts'

export const readEmailTemplate = statement<[id: string, tenantIds: readonly string[] | null], EmailTemplateRow>(
  'read_email_template',
  `-- reads a version of a template by the primary key; $2 = the caller's tenants, null: all
select ${emailTemplateRowColumns}
  from mdm.aa_email_template t
 where t.id = $1 and (t.tenant_id is null or $2::uuid[] is null or t.tenant_id = any ($2))`,
)
