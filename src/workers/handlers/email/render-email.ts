import { convert } from 'html-to-text'
import { Liquid } from 'liquidjs'
import { NeverRetry } from '../../../jobs/errors.ts'
import type { EmailSendPayload } from '../../../jobs/email-send-payload.ts'
import { findEmailTemplate, type EmailTemplateRow } from '../../../sql/find-email-template.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { EmailContent } from './build-message.ts'

/** What the mail says: the given content, or the stored template with its variables. What can never be rendered throws NeverRetry. */
export async function renderEmail(
  db: Queryable,
  tenantId: string,
  { template, content }: EmailSendPayload,
): Promise<EmailContent> {
  if (content !== undefined) {
    const { subject, html = null, text = plainText(html ?? '') } = content
    return { subject, text, html }
  }
  const { key, locale = null, variables = {} } = template!
  const [found] = await findEmailTemplate(db, tenantId, key, locale)
  if (found === undefined) {
    throw new NeverRetry(`There is no email template ${key}. Store it with setEmailTemplate, then replay the job.`)
  }
  return renderTemplate(found, variables)
}

/** A template with its variables filled in: escaped in HTML, as they are in text and subject. */
export function renderTemplate(template: EmailTemplateRow, variables: Readonly<Record<string, unknown>>): EmailContent {
  const name = `The email template ${template.key} (${template.locale}, version ${template.version})`
  const missing = template.requiredVariables.filter((variable) => variables[variable] === undefined)
  if (missing.length > 0) throw new NeverRetry(`${name} needs the variables ${missing.join(', ')}.`)
  try {
    const html = template.html === null ? null : inHtml.parseAndRenderSync(template.html, variables)
    const text = inText.parseAndRenderSync(template.text, variables)
    return {
      subject: oneLine(inText.parseAndRenderSync(template.subject, variables)),
      text: text.trim() === '' && html !== null ? plainText(html) : text,
      html,
    }
  } catch (error) {
    throw new NeverRetry(new Error(`${name} cannot be rendered: ${(error as Error).message}`, { cause: error }))
  }
}

/** Variables come from callers and templates from tenants: neither reaches a file or a prototype, and no loop runs away. */
const engine = {
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 1_000_000,
  renderLimit: 1_000,
  memoryLimit: 10_000_000,
}
const inText = new Liquid(engine)
const inHtml = new Liquid({ ...engine, outputEscape: 'escape' })

function plainText(html: string): string {
  return convert(html, { wordwrap: 78, limits: { maxInputLength: 1_000_000 } })
}

function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}
