import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import { listWebhookEndpoints as read } from '../sql/list-webhook-endpoints.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { shownRecipient } from './list-email-logs.ts'

const mostEndpoints = 1_000

/** Endpoints of the caller's tenants, or of the one named, oldest first; at most 1,000. */
export async function listWebhookEndpoints(
  { tenantId }: { readonly tenantId?: string | null | undefined },
  context: RequestContext,
): Promise<WebhookEndpointRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, tenantKeys } = context.deps
  if (tenantId == null) return read(pools.api, tenantPredicate(caller), mostEndpoints)
  const tenant = await tenantKeys.find(tenantId)
  return tenant !== null && mayActFor(caller, tenant.id) ? read(pools.api, [tenant.id], mostEndpoints) : []
}

/** One endpoint by its uuid; null: none of the caller's. */
export async function findWebhookEndpoint(id: string, context: RequestContext): Promise<WebhookEndpointRow | null> {
  authorize(context, [['READ_JOBS']])
  return context.loaders.webhookEndpoints.load(id)
}

/** The URL as this caller may see it: whole with READ_PAYLOADS, else its host alone, since paths and queries often are passwords. */
export function shownUrl({ url }: WebhookEndpointRow, { caller }: RequestContext): string {
  const parsed = URL.parse(url)
  if (caller?.scopes.has('READ_PAYLOADS') || parsed === null) return url
  return parsed.pathname === '/' && parsed.search === '' ? url : `${parsed.origin}/***`
}

/** Who gets a mail when it is switched off, masked without READ_PAYLOADS. */
export function shownNotifyEmail({ notifyEmail }: WebhookEndpointRow, context: RequestContext): string | null {
  return notifyEmail === null ? null : shownRecipient({ recipient: notifyEmail }, context)
}
