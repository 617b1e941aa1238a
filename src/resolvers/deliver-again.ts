import { actorOf, type Caller } from '../jobs/permissions.ts'
import { chainWebhook } from '../sql/chain-webhook.ts'
import { enqueueWaitingDeliveries } from '../sql/enqueue-waiting-deliveries.ts'
import { releaseDeliveries } from '../sql/release-deliveries.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
import type { RequestContext } from './context.ts'

const batch = 1_000

/**
 * Lets go on what was held for an endpoint, and what died too if `dead` says so, of deliveries made since then (null: ever). False:
 * it is not active. What is cut short here is mended by cleanup_jobs.
 */
export async function deliverAgain(
  endpoint: WebhookEndpointRow,
  { since, dead }: { readonly since: Date | null; readonly dead: boolean },
  caller: Caller,
  { deps, requestId }: RequestContext,
): Promise<boolean> {
  const { pools, wakeup } = deps
  const [released] = await releaseDeliveries(
    pools.commit,
    endpoint.id,
    since,
    dead,
    actorOf(caller.principal),
    requestId,
  )
  if (released === undefined) return false
  if (endpoint.ordered) await chainWebhook(pools.commit, endpoint.id)
  else {
    for (let found = batch; found === batch;) {
      const [enqueued] = await enqueueWaitingDeliveries(pools.commit, endpoint.id, batch)
      found = enqueued!.found
      wakeup.signal('work')
    }
  }
  wakeup.signal('work')
  wakeup.signal('journal')
  return true
}
