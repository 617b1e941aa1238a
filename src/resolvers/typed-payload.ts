/** The input `JobInput`: exactly one of its fields is set. */
export interface JobInput {
  readonly emailSend?: EmailSendInput | null | undefined
  readonly custom?: { readonly kind: string; readonly payload?: unknown } | null | undefined
}

interface EmailAddressInput {
  readonly address: string
  readonly name?: string | null | undefined
}

interface EmailSendInput {
  readonly to: EmailAddressInput
  readonly template?:
    | { readonly key: string; readonly locale?: string | null | undefined; readonly variables?: unknown }
    | null
    | undefined
  readonly content?:
    | { readonly subject: string; readonly text: string; readonly html?: string | null | undefined }
    | null
    | undefined
  readonly from?: string | null | undefined
  readonly replyTo?: EmailAddressInput | null | undefined
  readonly headers?: unknown
  /** As stored: lower case. */
  readonly category: string
  readonly onUnknown?: string | null | undefined
}

/** What to enqueue, and where in the input its payload stands. */
export interface TypedPayload {
  readonly kind: string
  readonly payload: unknown
  readonly path: readonly string[]
}

/** The stored payload is the typed input in snake_case: what SQL callers and `custom` write themselves. A null is a field left out. */
export function typedPayload(job: JobInput): TypedPayload {
  if (job.emailSend != null)
    return { kind: 'email_send', payload: emailSendPayload(job.emailSend), path: ['job', 'emailSend'] }
  const { kind, payload } = job.custom!
  return { kind, payload, path: ['job', 'custom', 'payload'] }
}

function emailSendPayload({ onUnknown, replyTo, to, template, content, ...rest }: EmailSendInput): unknown {
  return given({
    ...rest,
    to: given({ ...to }),
    template: template && given({ ...template }),
    content: content && given({ ...content }),
    reply_to: replyTo && given({ ...replyTo }),
    on_unknown: onUnknown,
  })
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
