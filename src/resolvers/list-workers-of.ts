import type { InstanceRow } from '../sql/read-instances.ts'
import { readWorkersOfInstance } from '../sql/read-workers-of-instance.ts'
import type { WorkerRow } from '../sql/read-workers.ts'
import { authorize, type RequestContext } from './context.ts'

/** The pools of an instance. */
export async function listWorkersOf(instance: InstanceRow, context: RequestContext): Promise<WorkerRow[]> {
  authorize(context, [['READ_JOBS']])
  return readWorkersOfInstance(context.deps.pools.api, instance.id)
}
