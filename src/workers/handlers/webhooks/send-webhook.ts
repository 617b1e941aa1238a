import type { Readable } from 'node:stream'
import { request, type Dispatcher } from 'undici'
import { refuseWebhookUrl, type WebhookReach } from '../../../jobs/webhook-address.ts'
import { signWebhook } from '../../../jobs/webhook-signature.ts'
import type { WebhookAnswer } from '../../../jobs/webhook-verdict.ts'
import { TargetForbidden } from './webhook-agent.ts'

export interface Webhook {
  readonly url: string
  /** The same over all attempts: the receiver's key against doubles. */
  readonly id: string
  /** Exactly what is signed and sent. */
  readonly body: string
  readonly secrets: readonly string[]
}

export type SendWebhook = (webhook: Webhook, signal: AbortSignal) => Promise<WebhookAnswer>

interface SenderDeps {
  readonly agent: Dispatcher
  readonly reach: WebhookReach
  /** From the start of a request to the end of its answer's body. */
  readonly totalMs?: number
}

const standardTotalMs = 20_000
/** What is read of an answer so that its connection can be used again. Nothing of it is kept (FAULTS H02). */
const readBytes = 64 * 1024
const readMs = 1_000

/** Posts webhooks: one deadline for everything, no redirects, and the status decides. Throws only when `signal` has fired. */
export function createWebhookSender({ agent, reach, totalMs = standardTotalMs }: SenderDeps): SendWebhook {
  return async ({ url, id, body, secrets }, signal) => {
    const refused = refuseWebhookUrl(url, reach)
    if (refused !== null) return { status: null, fault: 'forbidden', error: `The URL ${refused}` }
    const timestamp = Math.floor(Date.now() / 1_000)
    // One timer that ends with the request: AbortSignal.timeout would keep its own for the whole time.
    const ending = new AbortController()
    let late = false
    const timer = setTimeout(() => {
      late = true
      ending.abort()
    }, totalMs)
    const obey = (): void => ending.abort()
    signal.addEventListener('abort', obey)
    try {
      const {
        statusCode,
        headers,
        body: answer,
      } = await request(url, {
        dispatcher: agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Stellwerk-Webhooks/1.0',
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': signWebhook(id, timestamp, body, secrets),
        },
        body,
        signal: ending.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      await readAway(answer)
      const retryAfter = headers['retry-after']
      return { status: statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : null }
    } catch (error) {
      signal.throwIfAborted()
      if (late) return unreachable(`The receiver did not answer within ${totalMs / 1_000} s.`)
      const cause = causeOf(error)
      if (cause instanceof TargetForbidden) return { status: null, fault: 'forbidden', error: cause.message }
      return unreachable(`The receiver could not be reached: ${cause.message}.`)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', obey)
    }
  }
}

const unreachable = (error: string): WebhookAnswer => ({ status: null, fault: 'unreachable', error })

/** Several addresses, all of them refused: the first says why. */
function causeOf(error: unknown): Error {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0]
  return error instanceof Error ? error : new Error(String(error))
}

/** A body that is long, slow or broken ends its connection, not the delivery: the status was heard. */
function readAway(body: Readable): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => body.destroy(), readMs)
    body.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes > readBytes) body.destroy()
    })
    body.once('close', end)
    body.once('end', end)
    body.once('error', end)
  })
}
