import type { RequestContext } from './context.ts'
import type { JobFilterInput } from './job-filter.ts'
import { listJobs, type JobPage } from './list-jobs.ts'
import type { PageArgs } from './page.ts'

interface DeadLettersInput extends PageArgs {
  readonly filter?: JobFilterInput | null | undefined
  readonly streamCursor: boolean
}

/** The dead-letter queue, latest death first. */
export function listDeadLetters({ filter, ...input }: DeadLettersInput, context: RequestContext): Promise<JobPage> {
  return listJobs(
    { ...input, filter: { ...filter, status: ['dlq'] }, orderBy: { field: 'COMPLETED_AT', direction: 'DESC' } },
    context,
  )
}
