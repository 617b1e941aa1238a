import { z } from 'zod'

// What can end a header line, or be taken for its end by a careless server on the way (FAULTS M03).
const noControls = z.regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must not hold control characters or line separators')

// One address and nothing else: no display name, comment, list, quoted part or address literal, all of which mail parsers read in their own ways.
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const topLabel = '(?=[A-Za-z0-9-]*[A-Za-z])' + label
const oneAddress = new RegExp(`^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:(?:${label}\\.)+${topLabel}|localhost)$`)

const emailAddress = z.strictObject({
  address: z
    .string()
    .max(254)
    .regex(
      oneAddress,
      'must be one plain address such as ada@example.org, in ASCII (a domain with other letters in its xn-- form)',
    ),
  name: z.string().max(200).check(noControls).optional(),
})

/** The key under which a template is stored. */
export const templateKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_.-]{0,62}$/, 'must be a template key: a-z, 0-9, _, . and -, at most 63 characters')

/** A language, perhaps with a region or script. */
export const templateLocale = z
  .string()
  .max(35)
  .regex(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, 'must be a language tag such as en or de-AT')

const template = z.strictObject({
  key: templateKey,
  locale: templateLocale.optional(),
  variables: z.record(z.string(), z.unknown()).optional(),
})

const content = z
  .strictObject({
    subject: z.string().min(1).max(500).check(noControls),
    /** Made from the HTML where it is missing. */
    text: z.string().min(1).optional(),
    html: z.string().min(1).optional(),
  })
  .refine(({ text, html }) => text !== undefined || html !== undefined, {
    error: 'text or html is needed',
    params: { keyword: 'anyOf' },
  })
  .meta({ anyOf: [{ required: ['text'] }, { required: ['html'] }] })

const headerName = z
  .string()
  .regex(/^[Xx]-[A-Za-z0-9-]{1,70}$/, 'must begin with X- and hold only letters, digits and -')

/** One email to one recipient: partial acceptance of several would report success for a mail that lost one. */
export const emailSendPayload = z
  .strictObject({
    to: emailAddress,
    template: template.optional(),
    content: content.optional(),
    from: z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,63}$/, 'must be the key of a configured sender')
      .optional(),
    reply_to: emailAddress.optional(),
    headers: z
      .record(headerName, z.string().max(900).check(noControls))
      .refine((headers) => Object.keys(headers).length <= 20, {
        error: 'at most 20 headers are allowed',
        params: { keyword: 'maxProperties' },
      })
      .optional(),
    /** Own files that were scanned clean; never a path or a URL. */
    attachment_ids: z
      .array(z.uuid())
      .min(1)
      .max(20)
      .refine((ids) => new Set(ids.map((id) => id.toLowerCase())).size === ids.length, {
        error: 'must not name an attachment twice',
        params: { keyword: 'uniqueItems' },
      })
      .meta({ uniqueItems: true })
      .optional(),
    category: z.enum(['transactional', 'notification', 'bulk']).default('transactional'),
    on_unknown: z.enum(['resend', 'hold']).optional(),
  })
  .refine((email) => (email.template === undefined) !== (email.content === undefined), {
    error: 'exactly one of template and content is needed',
    params: { keyword: 'oneOf' },
  })
  .meta({ oneOf: [{ required: ['template'] }, { required: ['content'] }] })

/** A checked payload of `email_send`. */
export type EmailSendPayload = z.output<typeof emailSendPayload>

/** A checked address with an optional name: the only form in which an address reaches the mail library. */
export type EmailAddress = z.output<typeof emailAddress>

/** Whether a text is one plain address, as recipients have to be. */
export function isEmailAddress(text: string): boolean {
  return text.length <= 254 && oneAddress.test(text)
}
