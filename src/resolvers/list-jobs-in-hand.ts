import { tenantPredicate } from '../jobs/permissions.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readJobsInHand } from '../sql/read-jobs-in-hand.ts'
import type { WorkerRow } from '../sql/read-workers.ts'
import { authorize, type RequestContext } from './context.ts'

/** The jobs that a worker runs, oldest claim first; those of foreign tenants are left out. */
export async function listJobsInHand(worker: WorkerRow, context: RequestContext): Promise<JobRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  if (worker.instanceId === null) return []
  return readJobsInHand(context.deps.pools.api, worker.instanceId, worker.name, tenantPredicate(caller))
}
