import type { Pool } from 'pg'
import { setTimeout as wait } from 'node:timers/promises'
import type { Wakeup } from '../../../events/wakeup.ts'
import { databaseFault } from '../../../jobs/database-fault.ts'
import { NeverRetry, RetryLater, Snooze } from '../../../jobs/errors.ts'
import type { Events, WebhookOutcome } from '../../../jobs/event.ts'
import { SecretUnreadable, type SecretBox } from '../../../jobs/secret-box.ts'
import { isGivenUp, judgeWebhook, type WebhookVerdict } from '../../../jobs/webhook-verdict.ts'
import { disableWebhook } from '../../../sql/disable-webhook.ts'
import { holdDelivery } from '../../../sql/hold-delivery.ts'
import { readDeliveries, type DeliveryToSend } from '../../../sql/read-deliveries.ts'
import { recordDeliveries } from '../../../sql/record-deliveries.ts'
import { recordDeliveryFailure } from '../../../sql/record-delivery-failure.ts'
import type { HandlerContext, HandlerResult } from '../../handler.ts'
import { statementsIn } from '../statements-in.ts'
import { gather } from './gather.ts'
import type { Places } from './places.ts'
import type { SendWebhook, Webhook } from './send-webhook.ts'

interface DeliverDeps {
  readonly pool: Pool
  readonly wakeup: Pick<Wakeup, 'signal'>
  readonly events: Pick<Events, 'emit'>
  readonly send: SendWebhook
  readonly places: Places
  /** Null: this process has no key, so that it cannot sign. */
  readonly secrets: SecretBox | null
}

export type Deliver = (context: HandlerContext<unknown>, deliveryId: string) => Promise<HandlerResult>

type Failed = Exclude<WebhookVerdict, { outcome: 'delivered' }>

/** What a process without the right key waits before it asks again whether another one has done it. */
const unreadableMs = 10_000
const recordTries = 6
/** Beyond this the receiver gets a reference instead, and fetches what it wants (KINDS section 5). */
const mostBodyBytes = 20_000
/** What was read longer ago is read again before a request. */
const freshMs = 20

/**
 * Carries one event to one endpoint. What the receiver took is recorded before the job ends, in one commit for all that were taken
 * meanwhile: a run whose job comes again finds it there, and sends nothing. Only what was taken and not recorded is sent twice, with
 * the same webhook-id.
 */
export function createDeliver({ pool, wakeup, events, send, places, secrets }: DeliverDeps): Deliver {
  const read = gather(async (ids: readonly string[]) => {
    const rows = new Map((await readDeliveries(pool, ids, mostBodyBytes)).map((row) => [row.id, row]))
    return ids.map((id) => rows.get(id))
  })

  const record = gather(async (taken: readonly Taken[]) => {
    await persistently(() => recordTaken(pool, taken, wakeup))
    return taken
  })

  const tell = (delivery: DeliveryToSend, outcome: WebhookOutcome, status: number | null, durationMs: number): void =>
    events.emit({
      type: 'webhook:attempted',
      deliveryId: delivery.id,
      endpointId: delivery.endpointId,
      tenantId: delivery.tenantId,
      outcome,
      status,
      durationMs,
    })

  return async (context, deliveryId) => {
    const { job, signal } = context
    let delivery = await find(context, deliveryId)
    const ended = await endedAlready(delivery, job.id)
    if (ended !== null) return ended

    const asked = performance.now()
    const host = hostOf(delivery.url)
    const place = await places.take({ endpointId: delivery.endpointId, host, failing: delivery.failures > 0 })
    if (typeof place === 'number') throw new Snooze(place)
    try {
      signal.throwIfAborted()
      if (performance.now() - asked > freshMs) {
        // Those before it may have switched the endpoint off, or made it wait.
        delivery = await find(context, deliveryId)
        const meanwhile = await endedAlready(delivery, job.id)
        if (meanwhile !== null) return meanwhile
      }
      const webhook = webhookOf(delivery, unseal(delivery, secrets, context.log))
      const begun = performance.now()
      const answer = await send(webhook, signal)
      const durationMs = Math.round(performance.now() - begun)
      const verdict = judgeWebhook(answer, delivery.failures, Date.now())
      tell(delivery, verdict.outcome, answer.status, durationMs)
      if (verdict.outcome !== 'delivered') return await notTaken(context, delivery, verdict, answer.status, durationMs)
      place.leave()
      await record({ delivery, jobId: job.id, status: answer.status!, durationMs })
      return { result: { status: 'delivered', httpStatus: answer.status, durationMs } }
    } finally {
      place.leave()
    }
  }

  async function find({ job }: HandlerContext<unknown>, deliveryId: string): Promise<DeliveryToSend> {
    const delivery = await read(deliveryId)
    if (delivery?.tenantId === job.tenantId) return delivery
    throw new NeverRetry('There is no such delivery any more. Discard the job.')
  }

  /** Null: it is to be sent now. Throws Snooze where its endpoint is to be left alone. */
  async function endedAlready(delivery: DeliveryToSend, jobId: string): Promise<HandlerResult | null> {
    if (delivery.jobId !== jobId) return { result: { status: 'superseded' } }
    if (delivery.status !== 'pending' && delivery.status !== 'held') return { result: { status: delivery.status } }
    if (delivery.endpointStatus !== 'active') return hold(delivery, jobId)
    if (delivery.throttledMs > 0) throw new Snooze(places.after(delivery.endpointId, delivery.throttledMs))
    return null
  }

  /** It waits for its endpoint, without a job: who switches that on again says what of it is delivered. */
  async function hold(delivery: DeliveryToSend, jobId: string): Promise<HandlerResult> {
    const [held] = await holdDelivery(pool, delivery.id, jobId)
    // Active again by now.
    if (held === undefined) throw new Snooze(100)
    return { result: { status: 'held' } }
  }

  async function notTaken(
    { job, transaction }: HandlerContext<unknown>,
    delivery: DeliveryToSend,
    verdict: Failed,
    status: number | null,
    durationMs: number,
  ): Promise<HandlerResult> {
    const { id, endpointId, tenantId } = delivery
    const pauseMs = verdict.outcome === 'failed' ? verdict.pauseMs : null
    const disabled = await transaction(async (tx) => {
      const db = statementsIn(tx)
      const [endpoint] = await recordDeliveryFailure(db, id, job.id, status, verdict.error, durationMs, pauseMs)
      if (endpoint === undefined) return null
      const reason = reasonToDisable(verdict, endpoint.failures, endpoint.failingForMs)
      if (reason === null) return null
      const [off] = await disableWebhook(db, endpointId, reason)
      if (off === undefined) return null
      if (off.notify !== null)
        await tx.enqueue({ kind: 'email_send', tenant: tenantId, payload: noticeOf(off.notify, delivery, reason) })
      return reason
    })
    if (disabled !== null) events.emit({ type: 'webhook:disabled', endpointId, tenantId, reason: disabled })
    // The URL itself is wrong: this one is dead, so that somebody looks.
    if (verdict.outcome === 'forbidden') throw new NeverRetry(verdict.error)
    if (verdict.outcome === 'gone' || disabled !== null) return hold(delivery, job.id)
    throw verdict.asked ? new RetryLater(verdict.pauseMs!, new Error(verdict.error)) : new Error(verdict.error)
  }
}

interface Taken {
  readonly delivery: DeliveryToSend
  readonly jobId: string
  readonly status: number
  readonly durationMs: number
}

/** In one commit; endpoints that keep an order go on with their next one. */
async function recordTaken(pool: Pool, taken: readonly Taken[], wakeup: DeliverDeps['wakeup']): Promise<void> {
  const columns = [
    taken.map(({ delivery }) => delivery.id),
    taken.map(({ jobId }) => jobId),
    taken.map(({ delivery }) => delivery.endpointId),
    taken.map(({ status }) => status),
    taken.map(({ durationMs }) => durationMs),
  ] as const
  const [{ started } = { started: false }] = await recordDeliveries(pool, ...columns)
  if (started) wakeup.signal('work')
}

/** The receiver has it: what is in the way of writing that down is waited out, as far as the run's own time allows. */
async function persistently(write: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write()
    } catch (error) {
      const fault = databaseFault(error)
      if ((fault !== 'unavailable' && fault !== 'conflict') || attempt >= recordTries) throw error
      await wait(Math.min(100 * 2 ** (attempt - 1), 3_000) * (0.5 + Math.random()))
    }
  }
}

function reasonToDisable(verdict: Failed, failures: number, failingForMs: number): string | null {
  if (verdict.outcome !== 'failed') return verdict.error
  return isGivenUp(failures, failingForMs)
    ? `It has taken nothing for five days, ${failures} attempts in a row. The last one: ${verdict.error}`
    : null
}

function unseal(
  { tenantId, secrets: sealed }: DeliveryToSend,
  box: SecretBox | null,
  log: HandlerContext<unknown>['log'],
): string[] {
  try {
    if (box === null) throw new SecretUnreadable('This process cannot sign: STELLWERK_SECRET_KEY is not set.')
    return sealed.map((secret) => box.open(secret, tenantId))
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error
    // No fault of the receiver's: no attempt is counted, and another instance may have the key.
    log.warn(error.message)
    throw new Snooze(unreadableMs)
  }
}

/** The same bytes over all attempts. The payload's own text stands in the body, so that its numbers keep all their digits. */
function webhookOf(delivery: DeliveryToSend, secrets: string[]): Webhook {
  const { url, eventId, eventType, occurredAt, payloadText, payloadBytes } = delivery
  if (payloadBytes === null) throw new NeverRetry('The event of this delivery is gone. Discard the job.')
  const data = payloadText === null ? `"thin":true,"data":${referenceOf(delivery)}` : `"data":${payloadText}`
  const body = `{"type":${JSON.stringify(eventType)},"timestamp":${JSON.stringify(occurredAt)},${data}}`
  return { url, id: `msg_${eventId}`, body, secrets }
}

/** What leads the receiver to the payload: the delivery's node id. */
function referenceOf({ id, tenantId, eventId, aggregateType, aggregateId, payloadBytes }: DeliveryToSend): string {
  return JSON.stringify({
    delivery_id: `delivery_${id}`,
    event_id: eventId,
    tenant_id: tenantId,
    aggregate_type: aggregateType,
    aggregate_id: aggregateId,
    payload_bytes: payloadBytes,
  })
}

/** The mail to whoever looks after an endpoint that was switched off. Of its URL it names the host alone: the rest often is a password. */
function noticeOf(address: string, { endpointId, url }: DeliveryToSend, reason: string): Record<string, unknown> {
  const variables = { endpoint: `endpoint_${endpointId}`, host: hostOf(url), reason }
  return { to: { address }, template: { key: 'webhook_disabled', variables }, category: 'notification' }
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url
}
