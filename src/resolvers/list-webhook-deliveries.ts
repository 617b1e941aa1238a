import { tenantPredicate } from '../jobs/permissions.ts'
import { listWebhookDeliveries as read } from '../sql/list-webhook-deliveries.ts'
import { readWebhookDelivery } from '../sql/read-webhook-delivery.ts'
import type { WebhookDeliveryRow } from '../sql/webhook-delivery-row.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

interface WebhookDeliveriesInput {
  readonly status?: readonly WebhookDeliveryRow['status'][] | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'webhook_deliveries'

/** Deliveries of an endpoint that the caller was shown, newest event first. */
export async function listWebhookDeliveries(
  endpointId: string,
  { status, ...page }: WebhookDeliveriesInput,
  context: RequestContext,
): Promise<Page<WebhookDeliveryRow>> {
  authorize(context, [['READ_JOBS']])
  const plan = planPage(page)
  const [before = null] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^\d{1,18}$/)
  const rows = await boundedRead(context.deps.pools.api, (db) =>
    read(db, endpointId, status ?? null, before, plan.size + 1),
  )
  return pageOf(plan, rows, ({ eventPk }) => encodeCursor(order, [eventPk]))
}

/** What its event says, as stored text; null without READ_PAYLOADS, and when the event is gone. */
export async function eventPayloadText(
  { eventPk }: WebhookDeliveryRow,
  { caller, loaders }: RequestContext,
): Promise<string | null> {
  return caller?.scopes.has('READ_PAYLOADS') ? ((await loaders.eventPayloads.load(eventPk))?.text ?? null) : null
}

/** One delivery by its uuid; null: none of the caller's. */
export async function findWebhookDelivery(id: string, context: RequestContext): Promise<WebhookDeliveryRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readWebhookDelivery(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}
