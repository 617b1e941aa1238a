import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { callbackify } from 'node:util'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'

/** A mail as the development mailbox shows it. */
export interface ReceivedMail {
  readonly to: string
  readonly from: string
  readonly subject: string
  readonly text: string
  readonly html: string | null
  readonly messageId: string | null
  readonly receivedAt: string
}

/** Takes every mail and sends none on: the provider of development. */
export interface DevMailbox {
  /** The newest first. */
  list(): readonly ReceivedMail[]
  clear(): void
  start(): Promise<void>
  stop(): Promise<void>
  /** The SMTP URL that leads here; only after start. */
  url(): string
}

const kept = 500
const largestMail = 10 * 1024 * 1024

/** A mailbox on a loopback port of its own choosing; it keeps the last 500 mails in memory. */
export function createDevMailbox(): DevMailbox {
  let mails: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 1_000,
    logger: false,
    onData: callbackify(async (stream: Readable, { envelope: { mailFrom, rcptTo } }: SMTPServerSession) => {
      // With the first mail: it is as large as all else here.
      const { simpleParser } = await import('mailparser')
      const { subject, text, html, messageId } = await simpleParser(stream, { maxHtmlLengthToParse: largestMail })
      const mail = {
        to: rcptTo.map(({ address }) => address).join(', '),
        from: mailFrom === false ? '' : mailFrom.address,
        subject: subject ?? '',
        text: text ?? '',
        html: html || null,
        messageId: messageId ?? null,
        receivedAt: new Date().toISOString(),
      }
      mails = [mail, ...mails].slice(0, kept)
    }),
  })
  // A client that goes away in the middle is its own affair.
  server.on('error', () => undefined)

  return {
    list: () => mails,
    clear() {
      mails = []
    },
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.server.once('error', reject)
        server.listen(0, '127.0.0.1', resolve)
      })
    },
    async stop() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
    url: () => `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
  }
}
