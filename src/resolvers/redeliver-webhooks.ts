import { authorize, type RequestContext } from './context.ts'
import { deliverAgain } from './deliver-again.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid } from './user-error.ts'
import { noSuchEndpoint, refused, type WebhookEndpointResult } from './webhook-endpoint-input.ts'

/** Delivers what an active endpoint missed since then: what was held while it was switched off, and what was given up. */
export async function redeliverWebhooks(
  { endpointId, since }: { readonly endpointId: string; readonly since: Date },
  context: RequestContext,
): Promise<WebhookEndpointResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const uuid = parseUuidOf('endpoint', endpointId)
  const endpoint = uuid === null ? null : await context.loaders.webhookEndpoints.load(uuid)
  if (endpoint === null) return refused(noSuchEndpoint(endpointId, ['endpointId']))
  const done = endpoint.status === 'active' && (await deliverAgain(endpoint, { since, dead: true }, caller, context))
  if (done) return { endpoint, secret: null, errors: [] }
  return {
    endpoint,
    secret: null,
    errors: [
      invalid(
        ['endpointId'],
        'The endpoint is not active. Switch it on first: updateWebhookEndpoint with status ACTIVE.',
      ),
    ],
  }
}
