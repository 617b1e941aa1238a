import { authorize, type RequestContext } from './context.ts'
import type { EnqueueJobInput } from './enqueue-input.ts'
import { enqueueResult, failed, type EnqueueResult } from './enqueue-result.ts'
import { prepareOrder } from './prepare-order.ts'

/** Enqueues one job: answered after its commit. */
export async function enqueueJob(input: EnqueueJobInput, context: RequestContext): Promise<EnqueueResult> {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const prepared = await prepareOrder(input, context, caller, null)
  if (!prepared.ok) return failed(prepared.errors)
  return enqueueResult(await context.deps.enqueuer.enqueue(prepared.order), context, null)
}
