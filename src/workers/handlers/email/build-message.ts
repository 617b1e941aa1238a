import MailComposer from 'nodemailer/lib/mail-composer'
import type { EmailAddress } from '../../../jobs/email-send-payload.ts'
import type { EmailContent } from '../../../jobs/email-template.ts'
import type { EmailFile } from './load-attachments.ts'

export interface EmailParts extends EmailContent {
  /** `<job.{job id}@{mail domain}>`: the same for every resend. */
  readonly messageId: string
  readonly from: EmailAddress
  readonly to: EmailAddress
  readonly replyTo: EmailAddress | null
  readonly headers: Readonly<Record<string, string>>
  readonly files: readonly EmailFile[]
}

/** A message as it goes over the wire, with its envelope of one sender and one recipient. */
export interface BuiltMessage {
  readonly from: string
  readonly to: string
  readonly raw: Buffer
}

/**
 * Makes the message. Only checked addresses as objects come here: the library reads a text with a line break or a comma as
 * several recipients. It folds and encodes subject, names and header values.
 */
export async function buildMessage({
  messageId,
  from,
  to,
  replyTo,
  subject,
  text,
  html,
  headers,
  files,
}: EmailParts): Promise<BuiltMessage> {
  const composer = new MailComposer({
    messageId,
    from: named(from),
    to: named(to),
    ...(replyTo === null ? {} : { replyTo: named(replyTo) }),
    subject,
    text,
    ...(html === null ? {} : { html }),
    headers: Object.entries(headers).map(([key, value]) => ({ key, value })),
    attachments: files.map(({ filename, contentType, bytes }) => ({
      filename,
      contentType,
      content: bytes,
      contentDisposition: 'attachment' as const,
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return { from: from.address, to: to.address, raw: await composer.compile().build() }
}

function named({ address, name }: EmailAddress): { address: string; name: string } {
  return { address, name: name ?? '' }
}
