/** A version of a template, as it is read. */
export interface EmailTemplateRow {
  readonly id: string
  /** Null: for every tenant that has none of its own. */
  readonly tenantId: string | null
  readonly key: string
  readonly locale: string
  readonly version: number
  readonly subject: string
  readonly text: string
  readonly html: string | null
  readonly requiredVariables: string[]
}

/** The select list that makes an EmailTemplateRow of the alias `t`. */
export const emailTemplateRowColumns = `t.id, t.tenant_id as "tenantId", t.template_key as key, t.locale, t.version, t.subject, t.text_body as text, t.html_body as html,
       t.required_vars as "requiredVariables"`
