import type { Config } from '../../config.ts'
import { classifyDelivery, type DeliveryClass } from '../../jobs/classify-delivery.ts'
import type { EmailAddress, EmailSendPayload } from '../../jobs/email-send-payload.ts'
import { LeaseLost, NeverRetry, Snooze } from '../../jobs/errors.ts'
import { cutBytes } from '../../jobs/failure.ts'
import { beginEmail } from '../../sql/begin-email.ts'
import { recordEmailFailure } from '../../sql/record-email-failure.ts'
import { recordEmailHandover } from '../../sql/record-email-handover.ts'
import { recordEmailSent } from '../../sql/record-email-sent.ts'
import { recordEmailSuppressed } from '../../sql/record-email-suppressed.ts'
import type { Queryable } from '../../sql/statement.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import type { Handler, HandlerContext, HandlerResult } from '../handler.ts'
import type { AckJournal } from './email/ack-journal.ts'
import { buildMessage, type BuiltMessage } from './email/build-message.ts'
import { loadAttachments } from './email/load-attachments.ts'
import type { Pass, ProviderBreaker } from './email/provider-breaker.ts'
import type { ProviderPace } from './email/provider-pace.ts'
import { renderEmail } from './email/render-email.ts'
import { DeliveryError, type Accepted, type MailProvider } from './email/smtp-provider.ts'
import { statementsIn } from './statements-in.ts'

export interface EmailSendDeps {
  readonly db: Queryable
  /** Where attachments lie. */
  readonly store: ObjectStore
  readonly provider: MailProvider
  readonly acks: AckJournal
  readonly breaker: ProviderBreaker
  readonly pace: Omit<ProviderPace, 'stop'>
  readonly mail: Pick<Config['mail'], 'from' | 'domain' | 'senders'>
  readonly random: () => number
}

/** A run that has its row in the email log. */
interface Begun {
  /** By performance.now(): when it was let through to the provider. */
  readonly at: number
  readonly attempts: number
  readonly unanswered: number
}

const minute = 60_000
const largestMessage = 1024 * 1024
const responseBytes = 1_000

/**
 * Sends one email. It runs again after a lost commit without sending again, as long as what it heard from the provider can be
 * found: on the job's one log row, or in the ack journal. What remains doubtful is sent once more with the same Message-ID
 * (transactional) or held for a person.
 */
export function createEmailSend(deps: EmailSendDeps): Handler<EmailSendPayload> {
  const { db, store, provider, acks, breaker, pace, mail } = deps

  return async (context) => {
    const { payload, job } = context
    const from = senderOf(payload.from, mail)
    const content = await renderEmail(db, job.tenantId, payload)
    const messageId = `<job.${job.id}@${mail.domain}>`
    const { to, reply_to: replyTo = null, headers = {}, category, attachment_ids: attachmentIds = [] } = payload
    const files = attachmentIds.length === 0 ? [] : await loadAttachments(db, store, attachmentIds, job)
    const message = await buildMessage({ messageId, from, to, replyTo, headers, files, ...content })
    const ownBytes = message.raw.length - files.reduce((sum, { bytes }) => sum + encodedBytes(bytes.length), 0)
    if (ownBytes > largestMessage)
      throw new NeverRetry(`The message has ${ownBytes} bytes without its attachments; at most 1 MiB is sent.`)

    const pass = await breaker.enter(context.signal)
    const at = performance.now()
    try {
      // Asked before the log: what is dropped from the journal stands in the log by then.
      const ack = await acks.find(job.id)
      const template = payload.template?.key ?? null
      const [row] = await beginEmail(
        db,
        job.id,
        job.tenantId,
        messageId,
        provider.name,
        to.address,
        from.address,
        content.subject,
        template,
        category,
      )
      const { status, providerMessageId, suppressed, attempts, unanswered } = row!
      const begun: Begun = { at, attempts, unanswered }
      if (status !== 'sending') return sent(context, messageId, { providerMessageId, response: null })
      if (ack !== null) return sent(context, messageId, ack)
      if (suppressed !== null) return notSent(context, suppressed)
      if (unanswered > 0 && !mayResend(payload, unanswered)) throw await held(context, begun)
      return sent(context, messageId, await handOver(context, message, begun, pass))
    } finally {
      pass.leave()
    }
  }

  async function handOver(
    context: HandlerContext<EmailSendPayload>,
    message: BuiltMessage,
    begun: Begun,
    pass: Pass,
  ): Promise<Accepted> {
    const { job, signal, log } = context
    let asked: Promise<unknown> | undefined
    const onData = async (): Promise<void> => {
      const recorded = recordEmailHandover(db, job.id, begun.attempts)
      asked = recorded.catch(() => undefined)
      if ((await recorded).length === 0) throw new LeaseLost()
    }
    pace.tried()
    let accepted: Accepted
    try {
      accepted = await provider.send(message, { signal, onData })
    } catch (error) {
      if (error instanceof DeliveryError) throw await notTaken(context, error, begun, pass)
      // Ended from this side before the message began: what was counted ahead did not happen.
      await asked
      const why = cutBytes((error as Error).message, responseBytes)
      await recordEmailFailure(
        db,
        job.id,
        begun.attempts,
        statusOf('transient', begun),
        begun.unanswered,
        null,
        null,
        null,
        why,
        false,
      ).catch(() => undefined)
      throw error
    }
    pass.alive()
    const { response, providerMessageId } = accepted
    const ack = {
      jobId: job.id,
      providerMessageId,
      response: cutBytes(response, responseBytes),
      at: new Date().toISOString(),
    }
    // A full disk must not make a mail that is out look as if it were not.
    await acks.append(ack).catch((error: Error) => log.warn(`The ack journal could not be written: ${error.message}`))
    return accepted
  }

  /** Writes down what came of the attempt; answers what is to be thrown. */
  async function notTaken(
    { payload, job, log }: HandlerContext<EmailSendPayload>,
    error: DeliveryError,
    begun: Begun,
    pass: Pass,
  ): Promise<Error> {
    const { failure } = error
    const sort = classifyDelivery(failure)
    const unanswered = begun.unanswered + (sort === 'unknown' ? 1 : 0)
    const { code = null, enhanced = null, text = null } = failure.reply ?? {}
    const response = text === null ? null : cutBytes(text, responseBytes)
    const why = cutBytes(error.message, responseBytes)
    await recordEmailFailure(
      db,
      job.id,
      begun.attempts,
      statusOf(sort, begun),
      unanswered,
      code,
      enhanced,
      response,
      why,
      sort === 'recipient',
    )
    const shown = new Error(withoutAddress(error.message, payload.to.address), { cause: error.cause })
    switch (sort) {
      case 'transient':
        pass.alive()
        return shown
      case 'throttled':
        // It answers, and takes the mail of others.
        pass.alive()
        pace.throttled(begun.at, shown.message)
        log.warn(shown.message)
        return new Snooze((1 + 9 * deps.random()) * minute)
      case 'provider': {
        const ms = pass.fault(
          failure.reply === null && failure.code !== 'ETLS' ? 'unreachable' : 'refusing',
          shown.message,
        )
        log.warn(shown.message)
        return new Snooze(ms * (1 + 0.1 * deps.random()))
      }
      case 'recipient':
      case 'message':
        pass.alive()
        return new NeverRetry(shown)
      case 'unknown':
        return mayResend(payload, unanswered) ? shown : new NeverRetry(doubtful(shown.message))
    }
  }

  /** An earlier run handed the message over, and nobody can tell what the provider said. */
  async function held({ job }: HandlerContext<EmailSendPayload>, begun: Begun): Promise<Error> {
    const what = doubtful('The run that sent it ended before the answer came.')
    await recordEmailFailure(db, job.id, begun.attempts, 'unknown', begun.unanswered, null, null, null, what, false)
    return new NeverRetry(what)
  }
}

const statuses = {
  transient: 'failed',
  throttled: 'failed',
  provider: 'failed',
  unknown: 'unknown',
  recipient: 'rejected',
  message: 'rejected',
} as const satisfies Record<DeliveryClass, 'failed' | 'unknown' | 'rejected'>

/** In base64, with its line ends. */
function encodedBytes(bytes: number): number {
  const characters = Math.ceil(bytes / 3) * 4
  return characters + Math.floor(characters / 76) * 2
}

/** As long as an earlier handover is in doubt, a later failure does not make it certain that nothing arrived. */
function statusOf(sort: DeliveryClass, { unanswered }: Begun): 'failed' | 'unknown' | 'rejected' {
  return statuses[sort] === 'failed' && unanswered > 0 ? 'unknown' : statuses[sort]
}

/** Once more at most, and only where a mail too many is better than one too few. */
function mayResend({ category, on_unknown: onUnknown }: EmailSendPayload, unanswered: number): boolean {
  return unanswered <= 1 && (onUnknown ?? (category === 'transactional' ? 'resend' : 'hold')) === 'resend'
}

function doubtful(why: string): string {
  return `Nobody knows whether the provider took the message: ${why} Replay the job to send it once more, or discard it.`
}

function sent(
  { job }: HandlerContext<EmailSendPayload>,
  messageId: string,
  { providerMessageId, response }: Omit<Accepted, 'response'> & { response: string | null },
): HandlerResult {
  const id = providerMessageId ?? messageId.slice(1, -1)
  return {
    result: { status: 'sent', messageId, providerMessageId: id },
    commit: async (tx) =>
      void (await recordEmailSent(
        statementsIn(tx),
        job.id,
        id,
        response === null ? null : cutBytes(response, responseBytes),
      )),
  }
}

function notSent({ job }: HandlerContext<EmailSendPayload>, reason: string): HandlerResult {
  return {
    result: { status: 'suppressed', reason },
    commit: async (tx) => void (await recordEmailSuppressed(statementsIn(tx), job.id, reason)),
  }
}

function senderOf(key: string | undefined, { from, senders }: EmailSendDeps['mail']): EmailAddress {
  if (key === undefined) return mailbox(from)
  const sender = Object.hasOwn(senders, key) ? senders[key] : undefined
  if (sender !== undefined) return mailbox(sender)
  throw new NeverRetry(`The sender ${key} is not configured. Add it to STELLWERK_MAIL_SENDERS, then replay the job.`)
}

/** `Name <address>` or an address alone, as the settings have it. */
function mailbox(text: string): EmailAddress {
  const parts = /^(.+) <([^<>]+)>$/.exec(text)
  return parts === null ? { address: text } : { name: parts[1]!.trim(), address: parts[2]! }
}

/** The error of a job is shown to more people than its recipient. */
function withoutAddress(message: string, address: string): string {
  return message.replaceAll(new RegExp(address.replaceAll(/[^\w@]/g, '\\$&'), 'gi'), '<recipient>')
}
