import { actorOf } from '../jobs/permissions.ts'
import { resumeQueue as resume } from '../sql/resume-queue.ts'
import { chooseQueue, type QueueSelectorInput } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import type { PauseResult } from './pause-queue.ts'

/** Claims again: ends the pause of exactly this kind and tenant. */
export async function resumeQueue(
  { queue }: { readonly queue: QueueSelectorInput },
  context: RequestContext,
): Promise<PauseResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const chosen = await chooseQueue(queue, context, caller)
  if (!chosen.ok) return { pause: null, errors: chosen.errors }
  const { pools, wakeup } = context.deps
  const [pause] = await resume(pools.api, chosen.kind, chosen.tenantId, actorOf(caller.principal), context.requestId)
  if (pause === undefined) {
    const id = [queue.kind, queue.tenantId].filter((part) => part != null).join(' ')
    const message =
      'There is no pause in force of exactly this kind and tenant. The pauses of a kind and of a tenant stand with them.'
    return { pause: null, errors: [{ type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['queue'], id }] }
  }
  wakeup.signal('control')
  wakeup.signal('work')
  wakeup.signal('journal')
  return { pause, errors: [] }
}
