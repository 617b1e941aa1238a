import { Readable } from 'node:stream'
import SMTPConnection, { type SMTPConnectionAuth, type SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import { parseReply, type DeliveryFailure } from '../../../jobs/classify-delivery.ts'
import type { BuiltMessage } from './build-message.ts'

/** What the provider said when it took a message. */
export interface Accepted {
  readonly response: string
  /** The provider's own id of the message; null: its answer names none. */
  readonly providerMessageId: string | null
}

interface Handover {
  /** Ends the attempt as long as the message itself has not begun; after that only the answer ends it. */
  readonly signal: AbortSignal
  /** Runs when the server asks for the message, before its first byte; if it fails, nothing is sent. */
  onData(): Promise<void>
}

export interface MailProvider {
  /** As it stands in the email log, e.g. `smtp`, `ses`. */
  readonly name: string
  /** Resolves when the provider took the message; throws DeliveryError, the signal's reason, or what `onData` threw. */
  send(message: BuiltMessage, handover: Handover): Promise<Accepted>
  /** Closes connections that wait for the next message. */
  close(): void
}

/** The provider did not take the message, or nobody knows. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError'
  readonly failure: DeliveryFailure
  constructor(message: string, failure: DeliveryFailure, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

const second = 1_000
const limits = {
  connectionTimeout: 10 * second,
  greetingTimeout: 10 * second,
  dnsTimeout: 10 * second,
  socketTimeout: 30 * second,
}

/** Sends over SMTP: one message at a time on a connection, which is kept for the next; so there are as many as busy slots. */
export function createSmtpProvider(url: string, name = providerName(url)): MailProvider {
  const { auth, ...options } = parseConnectionUrl(url)
  const idle = new Set<SMTPConnection>()
  let closed = false

  const open = async (signal: AbortSignal): Promise<SMTPConnection> => {
    const connection = new SMTPConnection({ ...options, ...limits })
    // A connection that waits for the next message is ended by its socket timeout, or by the server.
    const drop = (): void => void idle.delete(connection)
    connection.on('error', drop)
    connection.once('end', drop)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abort = (): void => reject(signal.reason)
    signal.addEventListener('abort', abort)
    const ended = (): void => reject(new Error('The connection was closed.'))
    connection.on('error', reject)
    connection.once('end', ended)
    try {
      connection.connect((error) => {
        if (error) reject(error)
        else if (auth === undefined || !connection.allowsAuth) resolve()
        else connection.login(auth as SMTPConnectionAuth, (failure) => (failure ? reject(failure) : resolve()))
      })
      signal.throwIfAborted()
      await promise
      return connection
    } catch (error) {
      connection.close()
      throw error === signal.reason ? error : deliveryError(error as Error, 'connect')
    } finally {
      signal.removeEventListener('abort', abort)
      connection.off('end', ended)
      connection.off('error', reject)
    }
  }

  const hand = async (
    connection: SMTPConnection,
    message: BuiltMessage,
    { signal, onData }: Handover,
  ): Promise<Accepted> => {
    const { promise, resolve, reject } = Promise.withResolvers<SMTPConnectionSendInfo>()
    let phase: 'envelope' | 'data' = 'envelope'
    let refusal: unknown
    // The library reads the message only once the server has asked for it.
    const body = new Readable({
      read() {
        if (phase === 'data') return
        onData().then(
          () => {
            if (refusal !== undefined) return
            phase = 'data'
            body.push(message.raw)
            body.push(null)
          },
          (error: unknown) => body.destroy((refusal = error) as Error),
        )
      },
    })
    const abort = (): void => {
      if (phase === 'envelope') reject((refusal = signal.reason))
    }
    const failed = (error: Error): void => reject(error)
    signal.addEventListener('abort', abort)
    connection.on('error', failed)
    try {
      signal.throwIfAborted()
      const envelope = { from: message.from, to: [message.to], size: message.raw.length }
      connection.send(envelope, body, (error, info) => (error ? reject(error) : resolve(info)))
      const { response, serverMessageId } = await promise
      keep(connection)
      return {
        response,
        providerMessageId: serverMessageId === undefined ? queueId(response) : asReported(serverMessageId),
      }
    } catch (error) {
      if (refusal !== undefined || error === signal.reason) {
        connection.close()
        throw refusal ?? error
      }
      const failure = deliveryError(error as Error, phase)
      if (failure.failure.reply === null || failure.failure.reply.code === 421) connection.close()
      else connection.reset((stuck) => (stuck ? connection.close() : keep(connection)))
      throw failure
    } finally {
      signal.removeEventListener('abort', abort)
      connection.off('error', failed)
    }
  }

  const keep = (connection: SMTPConnection): void => {
    if (closed) connection.quit()
    else idle.add(connection)
  }

  return {
    name,
    async send(message, handover) {
      const [waiting] = idle
      if (waiting === undefined) return hand(await open(handover.signal), message, handover)
      idle.delete(waiting)
      try {
        return await hand(waiting, message, handover)
      } catch (error) {
        if (!wentStale(error)) throw error
        return hand(await open(handover.signal), message, handover)
      }
    },
    close() {
      closed = true
      for (const connection of idle) connection.quit()
      idle.clear()
    },
  }
}

/** The server had closed the kept connection, or does so now instead of listening: nothing was said yet. */
function wentStale(error: unknown): boolean {
  if (!(error instanceof DeliveryError)) return false
  const { phase, reply, code } = error.failure
  if (phase !== 'envelope') return false
  return reply?.code === 421 || (reply === null && (code === 'ECONNECTION' || code === 'ESOCKET'))
}

function deliveryError(error: Error, phase: DeliveryFailure['phase']): DeliveryError {
  const {
    code = 'ECONNECTION',
    command = null,
    response,
  } = error as Error & { code?: string; command?: string; response?: string }
  const reply = response === undefined ? null : parseReply(response)
  const said = reply === null ? error.message : `The provider answered: ${reply.text}`
  // An answer that is no reply is none.
  const known = reply === null && response !== undefined ? 'EPROTOCOL' : code
  return new DeliveryError(said, { phase, code: known, command, reply }, { cause: error })
}

/** Amazon SES reports on a message under its id alone, others under the whole Message-ID. */
function asReported(messageId: string): string {
  return messageId.replace(/^<|>$/g, '').replace(/@[a-z0-9-]+\.amazonses\.com$/, '')
}

/** Postfix: `250 2.0.0 Ok: queued as 4XyZ`; others: an id in angle brackets. */
function queueId(response: string): string | null {
  return /queued as ([\w.-]{6,})/i.exec(response)?.[1] ?? /<([^<>\s]{6,}@[^<>\s]+)>/.exec(response)?.[1] ?? null
}

function providerName(url: string): string {
  return /(^|\.)email-smtp\.[^.]+\.amazonaws\.com$/.test(new URL(url).hostname) ? 'ses' : 'smtp'
}
