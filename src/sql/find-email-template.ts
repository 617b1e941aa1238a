import { emailTemplateRowColumns, type EmailTemplateRow } from './email-template-row.ts'
import { statement } from './statement.ts'

export const findEmailTemplate = statement<[tenantId: string, key: string, locale: string | null], EmailTemplateRow>(
  'find_email_template',
  `-- reads the newest version of a template: in the locale asked for, its language, the tenant's, then English; the tenant's own before the common one
with tenant as (select default_language as locale from mdm.aa_tenant where id = $1),
wanted as (
  select lower(w.locale) as locale, min(w.nth) as nth
    from tenant, unnest(array[$3, split_part($3, '-', 1), tenant.locale, split_part(tenant.locale, '-', 1), 'en']) with ordinality w(locale, nth)
   where w.locale is not null
   group by 1)
select ${emailTemplateRowColumns}
  from mdm.aa_email_template t join wanted w on w.locale = lower(t.locale)
 where t.template_key = $2 and (t.tenant_id = $1 or t.tenant_id is null)
 order by w.nth, t.tenant_id nulls last, t.version desc
 limit 1`,
)
