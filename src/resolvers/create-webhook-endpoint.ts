import { actorOf } from '../jobs/permissions.ts'
import { drawWebhookSecret } from '../jobs/webhook-signature.ts'
import { createWebhookEndpoint as create } from '../sql/create-webhook-endpoint.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { endpointProblems, noSecretKey, refused, type WebhookEndpointResult } from './webhook-endpoint-input.ts'

interface CreateWebhookEndpointInput {
  readonly tenantId?: string | null | undefined
  readonly url: string
  readonly eventTypes: readonly string[]
  readonly ordered: boolean
  readonly notifyEmail?: string | null | undefined
}

/** Makes an endpoint. Events that are published from now on are sent there; its signing secret is shown this once. */
export async function createWebhookEndpoint(
  { tenantId = null, url, eventTypes, ordered, notifyEmail = null }: CreateWebhookEndpointInput,
  context: RequestContext,
): Promise<WebhookEndpointResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const { pools, secrets, wakeup } = context.deps
  const tenant = await chooseTenant(context, caller, tenantId, ['tenantId'])
  const errors = [...(tenant.ok ? [] : [tenant.error]), ...endpointProblems({ url, eventTypes, notifyEmail }, context)]
  if (secrets === null) errors.push(noSecretKey([]))
  if (!tenant.ok || secrets === null || errors.length > 0) return refused(...errors)
  const secret = drawWebhookSecret()
  const [endpoint] = await create(
    pools.api,
    tenant.tenantId,
    url,
    [...new Set(eventTypes)],
    ordered,
    secrets.seal(secret, tenant.tenantId),
    notifyEmail,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('journal')
  return { endpoint: endpoint!, secret, errors: [] }
}
