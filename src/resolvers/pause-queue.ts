import { actorOf } from '../jobs/permissions.ts'
import { pauseQueue as pause } from '../sql/pause-queue.ts'
import type { PauseRow } from '../sql/pause-row.ts'
import { chooseQueue, type QueueSelectorInput } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { badReason } from './reason.ts'
import { invalid, type UserError } from './user-error.ts'

interface PauseQueueInput {
  readonly queue: QueueSelectorInput
  readonly until?: Date | null | undefined
  readonly reason?: string | null | undefined
}

export interface PauseResult {
  readonly pause: PauseRow | null
  readonly errors: readonly UserError[]
}

/** Stops claiming from a part of the queue, until an instant or until somebody resumes it. Pausing again changes the pause that stands. */
export async function pauseQueue(
  { queue, until = null, reason }: PauseQueueInput,
  context: RequestContext,
): Promise<PauseResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const errors = [
    ...badReason(reason),
    ...(until !== null && until.getTime() <= Date.now()
      ? [invalid(['until'], 'The end of a pause lies in the future.')]
      : []),
  ]
  const chosen = await chooseQueue(queue, context, caller)
  if (!chosen.ok || errors.length > 0) return { pause: null, errors: [...errors, ...(chosen.ok ? [] : chosen.errors)] }
  const { pools, wakeup } = context.deps
  const [row] = await pause(
    pools.api,
    chosen.kind,
    chosen.tenantId,
    until,
    reason || null,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('control')
  wakeup.signal('journal')
  return { pause: row!, errors: [] }
}
