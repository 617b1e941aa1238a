import type { JobUpdateBatch } from '../events/job-update.ts'
import { mayActFor } from '../jobs/permissions.ts'
import { ApiError } from './api-error.ts'
import { authorize, type RequestContext } from './context.ts'
import { narrowJobs, type JobFilterInput } from './job-filter.ts'
import { openStream } from './open-stream.ts'
import { viewScope } from './view-scope.ts'

interface WatchJobsInput {
  readonly filter?: JobFilterInput | null | undefined
  readonly after?: string | null | undefined
  /** In milliseconds. */
  readonly window: number
  readonly conflate: boolean
  readonly progress: boolean
}

const longestWindowMs = 5_000

/** Transitions of all jobs that match, before or after, in batches. Throws BAD_USER_INPUT before the first of them. */
export async function watchJobs(
  input: WatchJobsInput,
  context: RequestContext,
): Promise<AsyncIterableIterator<JobUpdateBatch>> {
  const caller = authorize(context, [['READ_JOBS']])
  if (input.filter?.payload != null || input.filter?.errorText != null) {
    throw new ApiError('BAD_USER_INPUT', 'A stream cannot be narrowed down by `payload` or `errorText`.', {
      reason: 'INVALID',
    })
  }
  if (input.window > longestWindowMs)
    throw new ApiError('BAD_USER_INPUT', '`window` lies between PT0S and PT5S.', { reason: 'INVALID' })
  const { payloadText: _, errorText: __, ...filter } = await narrowJobs(input.filter, caller, context)
  return openStream(
    context.deps.relay.watchJobs({
      filter,
      after: input.after ?? null,
      windowMs: input.window,
      conflate: input.conflate,
      progress: input.progress,
      sees: (tenantId) => mayActFor(caller, tenantId),
      scope: () => viewScope(caller),
    }),
    { speaksAtOnce: false },
  )
}
