import { emailTemplateRowColumns, type EmailTemplateRow } from './email-template-row.ts'
import { statement } from './statement.ts'

export const listEmailTemplates = statement<[tenantIds: readonly string[] | null], EmailTemplateRow>(
  'list_email_templates',
  `-- reads the newest version of each template: those of the tenants (null: all) and the common ones; by the unique index on tenant, key, locale and version
select distinct on (t.template_key, t.locale, t.tenant_id) ${emailTemplateRowColumns}
  from mdm.aa_email_template t
 where t.tenant_id is null or $1::uuid[] is null or t.tenant_id = any ($1)
 order by t.template_key, t.locale, t.tenant_id, t.version desc`,
)
