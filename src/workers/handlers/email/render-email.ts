import { renderEmailTemplate, textOfHtml, type EmailContent } from '../../../jobs/email-template.ts'
import { NeverRetry } from '../../../jobs/errors.ts'
import type { EmailSendPayload } from '../../../jobs/email-send-payload.ts'
import { findEmailTemplate } from '../../../sql/find-email-template.ts'
import type { Queryable } from '../../../sql/statement.ts'

/** What the mail says: the given content, or the stored template with its variables. What can never be rendered throws NeverRetry. */
export async function renderEmail(
  db: Queryable,
  tenantId: string,
  { template, content }: EmailSendPayload,
): Promise<EmailContent> {
  if (content !== undefined) {
    const { subject, html = null, text = textOfHtml(html ?? '') } = content
    return { subject, text, html }
  }
  const { key, locale = null, variables = {} } = template!
  const [found] = await findEmailTemplate(db, tenantId, key, locale)
  if (found === undefined) {
    throw new NeverRetry(`There is no email template ${key}. Store it with setEmailTemplate, then replay the job.`)
  }
  const name = `The email template ${found.key} (${found.locale}, version ${found.version})`
  const missing = found.requiredVariables.filter((variable) => variables[variable] === undefined)
  if (missing.length > 0) throw new NeverRetry(`${name} needs the variables ${missing.join(', ')}.`)
  try {
    return renderEmailTemplate(found, variables)
  } catch (error) {
    throw new NeverRetry(new Error(`${name} cannot be rendered: ${(error as Error).message}`, { cause: error }))
  }
}
