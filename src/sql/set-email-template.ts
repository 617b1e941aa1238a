import { emailTemplateRowColumns, type EmailTemplateRow } from './email-template-row.ts'
import { statement } from './statement.ts'

type Params = [
  /** Null: for every tenant that has none of its own. */
  tenantId: string | null,
  key: string,
  locale: string,
  subject: string,
  text: string,
  html: string | null,
  requiredVariables: readonly string[],
  actor: string,
  requestId: string,
]

export const setEmailTemplate = statement<Params, EmailTemplateRow>(
  'set_email_template',
  `-- stores a template as the next version, by the unique index on tenant, key, locale and version; mails under way keep the one that they were rendered with
with stored as (
  insert into mdm.aa_email_template (tenant_id, template_key, locale, version, subject, text_body, html_body, required_vars, created_by)
  select $1::uuid, $2, $3,
         coalesce((select max(version) from mdm.aa_email_template where tenant_id is not distinct from $1 and template_key = $2 and locale = $3), 0) + 1,
         $4, $5, $6, $7::text[], $8
  returning *),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select coalesce(tenant_id, (select id from mdm.aa_tenant where tenant_key = 'platform')), 'metadata_change', $8, $9,
         jsonb_build_object('email_template_id', id, 'key', template_key, 'locale', locale, 'version', version)
    from stored)
select ${emailTemplateRowColumns} from stored t`,
)
