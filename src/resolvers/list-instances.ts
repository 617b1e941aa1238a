import { listInstances as list } from '../sql/list-instances.ts'
import type { InstanceRow } from '../sql/read-instances.ts'
import { authorize, type RequestContext } from './context.ts'

/** The living instances, oldest first. */
export async function listInstances(context: RequestContext): Promise<InstanceRow[]> {
  authorize(context, [['READ_JOBS']])
  return list(context.deps.pools.api, context.deps.deadAfterMs)
}
