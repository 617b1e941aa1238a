import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseEmailReports, parseSesEvent, type EmailReport } from '../jobs/email-report.ts'
import { readBody } from './read-body.ts'
import type { Routes } from './router.ts'
import { HttpError, sendJson } from './send.ts'
import { isSnsUrl, parseSnsMessage, verifySns } from './verify-sns.ts'

interface EmailWebhooksDeps {
  /** Key of the generic form's signatures; null: it is not served. */
  readonly secret: string | null
  /** The SNS topics that SES reports through; anyone can sign for a topic of his own. Empty: not served. */
  readonly topics: readonly string[]
  /** Answers how many mails of ours the reports are about. */
  readonly receive: (provider: string, reports: readonly EmailReport[]) => Promise<number>
  readonly fetchText?: (url: string) => Promise<string>
}

const mostBytes = 1024 * 1024
const mostAgeSeconds = 300
const fetchWithinMs = 5_000
const mostCertificates = 20

/** Where providers report bounces, complaints and deliveries. Each form is served once its secret or topic is configured. */
export function createEmailWebhooks({ secret, topics, receive, fetchText = fetchFrom }: EmailWebhooksDeps): Routes {
  return {
    ...(secret !== null && { '/webhooks/email/smtp': { POST: signed(secret, receive) } }),
    ...(topics.length > 0 && { '/webhooks/email/ses': { POST: bySns(topics, receive, fetchText) } }),
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** `x-stellwerk-signature: t=<seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`. */
function signed(secret: string, receive: EmailWebhooksDeps['receive']): Handle {
  return async (request, response) => {
    const body = await readBody(request, mostBytes)
    const [, time, signature] =
      /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(String(request.headers['x-stellwerk-signature'])) ?? []
    if (time === undefined)
      throw unsigned('The header x-stellwerk-signature is missing or not of the form t=<seconds>,v1=<hex>.')
    const expected = createHmac('sha256', secret).update(`${time}.${body}`).digest()
    if (!timingSafeEqual(expected, Buffer.from(signature!, 'hex')))
      throw unsigned('The signature does not fit the body. Sign "<t>.<body>" with the configured secret.')
    if (Math.abs(Date.now() / 1_000 - Number(time)) > mostAgeSeconds)
      throw unsigned('The signature is older than five minutes. Sign anew, with the clock set right.')
    const reports = parseEmailReports(parseJson(body))
    if (reports === null)
      throw unreadable(
        'Send {"events": [{"id", "type": "delivered" | "bounced" | "complained", "permanent"?, "detail"?}]}, at most 1,000 of them.',
      )
    sendJson(response, 200, { matched: await receive('smtp', reports) })
  }
}

function bySns(
  topics: readonly string[],
  receive: EmailWebhooksDeps['receive'],
  fetchText: (url: string) => Promise<string>,
): Handle {
  const certificates = new Map<string, string>()
  const certificateAt = async (url: string): Promise<string> => {
    const known = certificates.get(url)
    if (known !== undefined) return known
    const text = await fetchText(url)
    if (certificates.size >= mostCertificates) certificates.clear()
    certificates.set(url, text)
    return text
  }
  return async (request, response) => {
    const sns = parseSnsMessage(parseJson(await readBody(request, mostBytes)))
    if (sns === null) throw unreadable('This is no message of Amazon SNS.')
    if (!topics.includes(sns.TopicArn))
      throw unsigned('This topic is not configured. Add its ARN to STELLWERK_MAIL_SNS_TOPICS.')
    if (!(await verifySns(sns, certificateAt).catch(() => false))) throw unsigned('The signature cannot be verified.')
    if (sns.Type !== 'Notification') {
      if (sns.Type === 'SubscriptionConfirmation' && isSnsUrl(sns.SubscribeURL)) await fetchText(sns.SubscribeURL)
      return sendJson(response, 200, { matched: 0 })
    }
    const reports = parseSesEvent(parseJson(sns.Message))
    // SNS says hello in plain text when a topic is connected: nothing to object to.
    sendJson(response, 200, { matched: await receive('ses', reports ?? []) })
  }
}

async function fetchFrom(url: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(fetchWithinMs) })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}.`)
  return answer.text()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function unsigned(message: string): HttpError {
  return new HttpError(401, 'UNAUTHENTICATED', message)
}

function unreadable(message: string): HttpError {
  return new HttpError(400, 'BAD_USER_INPUT', message)
}
