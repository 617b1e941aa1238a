import type { JobRow } from '../sql/job-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseJobId } from './node-id.ts'

/** One job by node id or bare uuid; null: none among the caller's tenants. */
export async function getJob(id: string, context: RequestContext): Promise<JobRow | null> {
  authorize(context, [['READ_JOBS']])
  const jobId = parseJobId(id)
  return jobId === null ? null : context.loaders.jobs.load(jobId)
}
