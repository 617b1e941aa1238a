import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../../config.ts'
import type { Events } from '../../../jobs/event.ts'
import type { EmailSendPayload } from '../../../jobs/email-send-payload.ts'
import { emailSend } from '../../../jobs/built-in/email-send.ts'
import type { RateLimit } from '../../../jobs/rate-limit.ts'
import type { ObjectStore } from '../../../objects/object-store.ts'
import { pauseKind } from '../../../sql/pause-kind.ts'
import { recordAcknowledgedEmails } from '../../../sql/record-acknowledged-emails.ts'
import { resumeKind } from '../../../sql/resume-kind.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { DevMailbox } from '../../dev-mailbox.ts'
import type { Handler } from '../../handler.ts'
import { createAckJournal } from './ack-journal.ts'
import { createProviderBreaker, type BreakerDeps } from './provider-breaker.ts'
import { createProviderPace } from './provider-pace.ts'

/** All that sends mail in this process. */
export interface Email {
  readonly handler: Handler<EmailSendPayload>
  /** Where the mails of development are; null: they go to a real provider. */
  readonly mailbox: DevMailbox | null
  stop(): Promise<void>
}

export interface EmailDeps {
  readonly config: Pick<Config, 'smtpUrl' | 'env' | 'mail'>
  readonly db: Queryable
  /** Where attachments lie. */
  readonly store: ObjectStore
  readonly dataDir: string
  readonly events: Events
  /** The providers' buckets as the claim minds them; a provider that asks for less gets a smaller one for a while. */
  readonly limits: Record<string, RateLimit>
  /** Told when a pause was set or lifted, or a bucket exchanged, so that every dispatcher looks. */
  readonly onPause: () => void
  readonly pauses?: BreakerDeps['pauses']
}

const kind = emailSend.name
const actor = 'system:email_breaker'
const settleAgainMs = 10_000

/** Null in production without SMTP_URL: then nobody here serves email_send. */
export async function createEmail({
  config,
  db,
  store,
  dataDir,
  events,
  limits,
  onPause,
  pauses,
}: EmailDeps): Promise<Email | null> {
  if (config.smtpUrl === null && config.env === 'production') return null
  const [{ createEmailSend }, { createSmtpProvider }] = await Promise.all([
    import('../email-send.ts'),
    import('./smtp-provider.ts'),
  ])
  const mailbox = config.smtpUrl === null ? (await import('../../dev-mailbox.ts')).createDevMailbox() : null
  await mailbox?.start()
  const provider =
    config.smtpUrl === null ? createSmtpProvider(mailbox!.url(), 'mailbox') : createSmtpProvider(config.smtpUrl)
  const failed = (loop: string) => (error: unknown) => events.emit({ type: 'loop:failed', loop, error: error as Error })

  const acks = await createAckJournal({
    folder: join(dataDir, 'ack-journal'),
    record: async (heard) => (await recordAcknowledgedEmails(db, JSON.stringify(heard))).map(({ jobId }) => jobId),
    onError: failed('ack journal'),
  })
  const stopping = new AbortController()
  const settled = settleUntilDone()

  const breaker = createProviderBreaker({
    onOpen(ms, fault, reason) {
      events.emit({ type: 'provider:out', provider: provider.name, kind, fault, reason, ms })
      pauseKind(db, kind, ms, reason, actor).then(onPause, failed('provider pause'))
    },
    onClose() {
      events.emit({ type: 'provider:back', provider: provider.name, kind })
      resumeKind(db, kind, actor).then(onPause, failed('provider pause'))
    },
    random: Math.random,
    ...(pauses && { pauses }),
  })
  const pace = createProviderPace({
    limits,
    provider: emailSend.defaults.provider,
    onChange(limit, reason) {
      const rps = limit?.rps ?? null
      events.emit({ type: 'provider:paced', provider: provider.name, kind, rps, reason })
      onPause()
    },
  })

  /** At the start the database may not be there yet, or not have its tables. */
  async function settleUntilDone(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        return await acks.settle()
      } catch {
        await wait(settleAgainMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
      }
    }
  }

  return {
    handler: createEmailSend({ db, store, provider, acks, breaker, pace, mail: config.mail, random: Math.random }),
    mailbox,
    async stop() {
      stopping.abort()
      pace.stop()
      provider.close()
      await settled
      await acks.close()
      await mailbox?.stop()
    },
  }
}
