import { templateKey, templateLocale } from '../jobs/email-send-payload.ts'
import { checkEmailTemplate, type EmailTexts } from '../jobs/email-template.ts'
import { badText } from '../jobs/payload.ts'
import { actorOf } from '../jobs/permissions.ts'
import type { EmailTemplateRow } from '../sql/email-template-row.ts'
import { setEmailTemplate as set } from '../sql/set-email-template.ts'
import { mayActForAll } from './add-suppression.ts'
import { findOwnTenant } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface SetEmailTemplateInput {
  /** Null or missing: for every tenant that has none of its own. */
  readonly tenantId?: string | null | undefined
  readonly key: string
  readonly locale: string
  readonly subject: string
  readonly text: string
  readonly html?: string | null | undefined
}

export interface EmailTemplateResult {
  readonly template: EmailTemplateRow | null
  readonly errors: readonly UserError[]
}

const longest = { subject: 1_000, text: 500_000, html: 500_000 }

/** Stores a template as its next version; it must be Liquid that can be rendered. */
export async function setEmailTemplate(
  { tenantId = null, key, locale, subject, text, html = null }: SetEmailTemplateInput,
  context: RequestContext,
): Promise<EmailTemplateResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  if (tenantId === null) mayActForAll(context)
  const tenant = tenantId === null ? null : await findOwnTenant(tenantId, context, caller, ['tenantId'])
  const texts: EmailTexts = { subject, text, html }
  const errors = [
    ...(tenant === null || tenant.ok ? [] : [tenant.error]),
    ...(templateKey.safeParse(key).success
      ? []
      : [invalid(['key'], 'key must be a-z, 0-9, _, . and -, at most 63 characters.')]),
    ...(templateLocale.safeParse(locale).success
      ? []
      : [invalid(['locale'], 'locale must be a language tag such as en or de-AT.')]),
    ...badTexts(texts),
  ]
  if (errors.length > 0 || tenant?.ok === false) return { template: null, errors }
  const checked = checkEmailTemplate(texts)
  if (!checked.ok)
    return {
      template: null,
      errors: [invalid([checked.field], `${checked.field} is not valid Liquid: ${checked.message}.`)],
    }
  const { pools, wakeup } = context.deps
  const [row] = await set(
    pools.api,
    tenant?.id ?? null,
    key,
    locale,
    subject,
    text,
    html,
    checked.requiredVariables,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('journal')
  return { template: row!, errors: [] }
}

function badTexts(texts: EmailTexts): UserError[] {
  return (['subject', 'text', 'html'] as const).flatMap((field) => {
    const value = texts[field]
    if (value === null) return []
    if (value.length > longest[field])
      return [invalid([field], `${field} must have at most ${longest[field].toLocaleString('en')} characters.`)]
    if (field === 'subject' && value.trim() === '') return [invalid([field], 'subject must not be empty.')]
    const problem = badText(value)
    return problem === null ? [] : [invalid([field], `${field} ${problem}`)]
  })
}
