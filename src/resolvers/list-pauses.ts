import { tenantPredicate } from '../jobs/permissions.ts'
import type { PauseRow } from '../sql/pause-row.ts'
import { readPauses } from '../sql/read-pauses.ts'
import { authorize, type RequestContext } from './context.ts'

/** The pauses in force that concern the caller: those of every tenant, and those of the caller's. */
export async function listPauses(context: RequestContext): Promise<PauseRow[]> {
  const caller = authorize(context, [['READ_JOBS'], ['ENQUEUE_JOBS'], ['MANAGE_METADATA']])
  return readPauses(context.deps.pools.api, tenantPredicate(caller))
}
