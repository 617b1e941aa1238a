import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { updateWebhookEndpoint as update } from '../sql/update-webhook-endpoint.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { deliverAgain } from './deliver-again.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid } from './user-error.ts'
import { endpointProblems, noSuchEndpoint, refused, type WebhookEndpointResult } from './webhook-endpoint-input.ts'

interface UpdateWebhookEndpointInput {
  readonly id: string
  readonly url?: string | null | undefined
  readonly eventTypes?: readonly string[] | null | undefined
  readonly status?: WebhookEndpointRow['status'] | null | undefined
  /** Null: nobody any more. */
  readonly notifyEmail?: string | null | undefined
}

/** Changes an endpoint, pauses it, or switches it on again; what is missing stays as it is. */
export async function updateWebhookEndpoint(
  { id, url = null, eventTypes = null, status = null, notifyEmail }: UpdateWebhookEndpointInput,
  context: RequestContext,
): Promise<WebhookEndpointResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const { pools, wakeup } = context.deps
  const errors = endpointProblems({ url, eventTypes, notifyEmail: notifyEmail ?? null }, context)
  if (status === 'disabled')
    errors.push(invalid(['status'], 'status may be ACTIVE or PAUSED: the service alone disables endpoints.'))
  const uuid = parseUuidOf('endpoint', id)
  if (uuid === null) errors.push(noSuchEndpoint(id, ['id']))
  if (uuid === null || status === 'disabled' || errors.length > 0) return refused(...errors)
  const [row] = await update(
    pools.api,
    uuid,
    tenantPredicate(caller),
    url,
    eventTypes === null ? null : [...new Set(eventTypes)],
    status,
    notifyEmail === undefined ? null : (notifyEmail ?? ''),
    actorOf(caller.principal),
    context.requestId,
  )
  if (row === undefined) return refused(noSuchEndpoint(id, ['id']))
  const { releases, ...endpoint } = row
  wakeup.signal('journal')
  if (releases) await deliverAgain(endpoint, { since: null, dead: false }, caller, context)
  return { endpoint, secret: null, errors: [] }
}
