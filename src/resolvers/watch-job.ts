import type { JobUpdate } from '../events/job-update.ts'
import type { JobStatus } from '../jobs/lifecycle.ts'
import { mayActFor } from '../jobs/permissions.ts'
import { ApiError } from './api-error.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseJobId } from './node-id.ts'
import { openStream } from './open-stream.ts'

interface WatchJobInput {
  readonly id: string
  readonly after?: string | null | undefined
  readonly completeOn: readonly JobStatus[]
  /** In milliseconds. */
  readonly progressEvery: number
}

const longestProgressMs = 60_000

/** One job: its present state, then every transition and its progress. Throws NOT_FOUND or BAD_USER_INPUT before the first message. */
export async function watchJob(
  input: WatchJobInput,
  context: RequestContext,
): Promise<AsyncIterableIterator<JobUpdate>> {
  const caller = authorize(context, [['READ_JOBS']])
  const jobId = parseJobId(input.id)
  if (jobId === null) throw new ApiError('NOT_FOUND', 'There is no such job among your tenants.')
  const { progressEvery } = input
  return openStream(
    context.deps.relay.watchJob({
      jobId,
      after: input.after ?? null,
      completeOn: input.completeOn,
      progressEveryMs: progressEvery === 0 || progressEvery > longestProgressMs ? null : progressEvery,
      sees: (tenantId) => mayActFor(caller, tenantId),
    }),
    { speaksAtOnce: input.after == null },
  )
}
