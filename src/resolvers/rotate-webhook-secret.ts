import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { drawWebhookSecret } from '../jobs/webhook-signature.ts'
import { rotateWebhookSecret as rotate } from '../sql/rotate-webhook-secret.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid } from './user-error.ts'
import { noSecretKey, noSuchEndpoint, refused, type WebhookEndpointResult } from './webhook-endpoint-input.ts'

/** Makes a new signing secret, shown this once; for another 24 hours the one before signs too, so that receivers can change over. */
export async function rotateWebhookSecret(
  { id }: { readonly id: string },
  context: RequestContext,
): Promise<WebhookEndpointResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const { pools, secrets, wakeup } = context.deps
  const uuid = parseUuidOf('endpoint', id)
  const found = uuid === null ? null : await context.loaders.webhookEndpoints.load(uuid)
  if (found === null) return refused(noSuchEndpoint(id, ['id']))
  if (secrets === null) return refused(noSecretKey(['id']))
  const secret = drawWebhookSecret()
  const [endpoint] = await rotate(
    pools.api,
    found.id,
    tenantPredicate(caller),
    secrets.seal(secret, found.tenantId),
    actorOf(caller.principal),
    context.requestId,
  )
  if (endpoint === undefined)
    return refused(invalid(['id'], 'Ten secrets of this endpoint are still valid. Wait until the oldest have expired.'))
  wakeup.signal('journal')
  return { endpoint, secret, errors: [] }
}
