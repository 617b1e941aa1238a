import { createPublicKey, verify } from 'node:crypto'
import { z } from 'zod'

const message = z.looseObject({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
  Subject: z.string().nullish(),
  SubscribeURL: z.string().optional(),
  Token: z.string().optional(),
})

/** A message of Amazon SNS, as it is posted. */
export type SnsMessage = z.output<typeof message>

/** Null when a body is no message of SNS. */
export function parseSnsMessage(body: unknown): SnsMessage | null {
  return message.safeParse(body).data ?? null
}

/** Whether a URL leads to SNS itself: nothing else is ever asked for a certificate or told of a subscription. */
export function isSnsUrl(text: string | undefined): text is string {
  const url = text === undefined ? null : URL.parse(text)
  return (
    url?.protocol === 'https:' && url.port === '' && /^sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?$/.test(url.hostname)
  )
}

/** Whether SNS signed the message: with the key of the certificate it names. Throws what `fetchText` throws. */
export async function verifySns(sns: SnsMessage, fetchText: (url: string) => Promise<string>): Promise<boolean> {
  if (!isSnsUrl(sns.SigningCertURL) || !new URL(sns.SigningCertURL).pathname.endsWith('.pem')) return false
  const certificate = await fetchText(sns.SigningCertURL)
  const algorithm = sns.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
  return verify(
    algorithm,
    Buffer.from(signedText(sns)),
    createPublicKey(certificate),
    Buffer.from(sns.Signature, 'base64'),
  )
}

const signedFields = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const satisfies Record<SnsMessage['Type'], readonly (keyof SnsMessage)[]>

function signedText(sns: SnsMessage): string {
  return signedFields[sns.Type]
    .filter((field) => sns[field] != null)
    .map((field) => `${field}\n${sns[field]}\n`)
    .join('')
}
