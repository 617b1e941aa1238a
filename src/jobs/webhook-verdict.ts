import { retryAfterMs } from './retry-after.ts'

/** How a request to an endpoint ended. */
export type WebhookAnswer =
  | { readonly status: number; readonly retryAfter: string | null }
  /** No answer: what went wrong, and whether the endpoint itself is out of reach. */
  | { readonly status: null; readonly error: string; readonly fault: 'unreachable' | 'forbidden' }

/** What a delivery makes of it. `pauseMs`: the whole endpoint is left alone for so long; null: only this delivery waits. */
export type WebhookVerdict =
  | { readonly outcome: 'delivered' }
  | { readonly outcome: 'gone'; readonly error: string }
  | { readonly outcome: 'forbidden'; readonly error: string }
  | { readonly outcome: 'failed'; readonly error: string; readonly pauseMs: number | null; readonly asked: boolean }

const firstPauseMs = 250
const longestPauseMs = 60_000

/**
 * Everything but 2xx and 410 is tried again: receivers answer oddly during a deploy. `failures`: how often in a row the endpoint has
 * failed before. A gateway that finds nobody behind it, and whoever cannot be reached, is left alone for a moment by all deliveries.
 */
export function judgeWebhook(answer: WebhookAnswer, failures: number, nowMs: number): WebhookVerdict {
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures, 20), longestPauseMs)
  if (answer.status === null) {
    return answer.fault === 'forbidden'
      ? { outcome: 'forbidden', error: answer.error }
      : { outcome: 'failed', error: answer.error, pauseMs, asked: false }
  }
  const { status } = answer
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  if (status === 410) return { outcome: 'gone', error: 'The receiver answered 410: it wants no more events.' }
  const redirect = status >= 300 && status < 400 ? ' Redirects are not followed.' : ''
  const error = `The receiver answered ${status}.${redirect}`
  const asked = status === 429 || status === 503 ? retryAfterMs(answer.retryAfter, nowMs) : null
  if (asked !== null) return { outcome: 'failed', error, pauseMs: asked, asked: true }
  return { outcome: 'failed', error, pauseMs: [429, 502, 504].includes(status) ? pauseMs : null, asked: false }
}

/** Whether an endpoint has failed for so long that it is switched off: five days, ten times, and nothing taken in between. */
export function isGivenUp(failures: number, failingForMs: number): boolean {
  return failures >= 10 && failingForMs >= 5 * 24 * 60 * 60 * 1_000
}
