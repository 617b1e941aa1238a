import { builder } from './builder.ts'

const EmailAddressInputRef = builder.inputType('EmailAddressInput', {
  description: 'An email address with an optional name.',
  fields: (t) => ({
    address: t.string({ required: true, description: 'The address alone. Checked on the server.' }),
    name: t.string({ description: 'Display name.' }),
  }),
})

const EmailTemplateInputRef = builder.inputType('EmailTemplateInput', {
  description: 'A stored template and its values.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Template key.' }),
    locale: t.string({ description: "Locale. Default: the tenant's." }),
    variables: t.field({ type: 'JSON', description: 'Values for the template.' }),
  }),
})

const EmailContentInputRef = builder.inputType('EmailContentInput', {
  description: 'A ready text.',
  fields: (t) => ({
    subject: t.string({ required: true, description: 'Subject.' }),
    text: t.string({ required: true, description: 'Plain text.' }),
    html: t.string({ description: 'HTML, in addition.' }),
  }),
})

export const EmailCategoryRef = builder.enumType('EmailCategory', {
  description:
    'What sort of email it is: suppressions can be limited to one, and the rule for an unknown outcome follows it.',
  values: {
    TRANSACTIONAL: { value: 'transactional', description: "Asked for by the recipient's own action." },
    NOTIFICATION: { value: 'notification', description: 'Tells the recipient of something.' },
    BULK: { value: 'bulk', description: 'To many.' },
  } as const,
})

const UnknownDeliveryRef = builder.enumType('UnknownDelivery', {
  description: 'What to do when nobody knows whether the provider took the message.',
  values: {
    RESEND: { value: 'resend', description: 'Send it once more, with the same Message-ID.' },
    HOLD: { value: 'hold', description: 'Put the job into the DLQ for a person to decide.' },
  } as const,
})

export const EmailSendInputRef = builder.inputType('EmailSendInput', {
  description: 'An email to one recipient. Exactly one of `template` and `content`.',
  fields: (t) => ({
    to: t.field({ type: EmailAddressInputRef, required: true, description: 'Recipient.' }),
    template: t.field({ type: EmailTemplateInputRef, description: 'A stored template.' }),
    content: t.field({ type: EmailContentInputRef, description: 'A ready text.' }),
    from: t.string({ description: "Configured sender's key, if not the tenant's default." }),
    replyTo: t.field({ type: EmailAddressInputRef, description: 'Where answers go.' }),
    headers: t.field({ type: 'JSON', description: 'Additional headers; names begin with `X-`.' }),
    attachmentIds: t.idList({ description: 'Attachments that were scanned clean.' }),
    category: t.field({
      type: EmailCategoryRef,
      required: true,
      defaultValue: 'transactional',
      description: 'What sort it is.',
    }),
    onUnknown: t.field({ type: UnknownDeliveryRef, description: 'Default: RESEND for TRANSACTIONAL, else HOLD.' }),
  }),
})
