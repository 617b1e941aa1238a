import { decodeDeadLetterGroup } from '../jobs/dead-letter-group-id.ts'
import type { JobStatus } from '../jobs/lifecycle.ts'
import type { Caller } from '../jobs/permissions.ts'
import { ranges } from '../jobs/ranges.ts'
import type { BulkMatchParams } from '../sql/bulk-candidates.ts'
import type { BulkAction } from '../sql/bulk-operation-row.ts'
import type { JobMatchParams } from '../sql/job-matches.ts'
import type { RequestContext } from './context.ts'
import { matchParams, narrowJobs, type JobFilterInput, type NarrowedFilter } from './job-filter.ts'
import { parseJobId } from './node-id.ts'
import { readGroupFilter } from './read-group-filter.ts'
import { invalid, type UserError } from './user-error.ts'

/** The input `JobSelectionInput`: exactly one of the three. */
export interface JobSelectionInput {
  readonly ids?: readonly string[] | null | undefined
  readonly filter?: JobFilterInput | null | undefined
  readonly deadLetterGroup?: string | null | undefined
}

/** Which jobs an action is to take. */
export interface BulkSelection {
  readonly match: BulkMatchParams
  /** Whether jobs that run are meant as well: then a job that is claimed in between stays meant. */
  readonly followsClaims: boolean
  /** The same for people and for the comparison of two calls. */
  readonly described: Readonly<Record<string, unknown>>
}

/** Where each action starts from. */
const startsFrom: Readonly<Record<BulkAction, readonly JobStatus[]>> = {
  replay: ['dlq', 'failed'],
  discard: ['pending', 'dlq', 'failed'],
  cancel: ['pending', 'running'],
  stop: ['pending', 'running', 'dlq'],
}

/** Reads a selection. Throws as `narrowJobs` does. What has no restriction at all is refused: nobody means every job there is. */
export async function selectBulkJobs(
  action: BulkAction,
  { ids, filter, deadLetterGroup }: JobSelectionInput,
  context: RequestContext,
  caller: Caller,
): Promise<BulkSelection | UserError> {
  if (ids != null) {
    const wrong = wrongNumber(ids.length)
    if (wrong !== null) return wrong
    const found = ids.map(parseJobId).filter((id) => id !== null)
    return selection(action, await narrowJobs({ id: found }, caller, context), caller, startsFrom[action])
  }
  // A job that somebody flagged as broken for good is replayed only by its id.
  const statuses = startsFrom[action].filter((status) => action !== 'replay' || status !== 'failed')
  if (deadLetterGroup != null) {
    const key = decodeDeadLetterGroup(deadLetterGroup)
    const common = key === null ? null : readGroupFilter(key)
    if (common === null) {
      return {
        type: 'NotFoundError',
        code: 'NOT_FOUND',
        message: 'There is no such group. The query deadLetterGroups lists all.',
        path: ['select', 'deadLetterGroup'],
        id: deadLetterGroup,
      }
    }
    const dead = statuses.filter((status) => status === 'dlq')
    return selection(action, await narrowJobs(common, caller, context), caller, dead)
  }
  const narrowed = await narrowJobs(filter, caller, context)
  if (!restricts(narrowed, caller))
    return invalid(
      ['select', 'filter'],
      'The filter is empty: it would take every job. Name at least a status, a kind or a tenant.',
    )
  return selection(action, narrowed, caller, statuses)
}

function selection(
  action: BulkAction,
  filter: NarrowedFilter,
  caller: Caller,
  from: readonly JobStatus[],
): BulkSelection {
  const statuses = from.filter((status) => filter.status == null || filter.status.includes(status))
  const match = matchParams({ ...filter, status: statuses }, caller)
  return {
    match: [...match, action === 'replay'],
    followsClaims: statuses.includes('running'),
    described: Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null)),
  }
}

/** Whether anything is asked for that not every job is: an empty object, list of tags or range asks for nothing. */
function restricts(filter: NarrowedFilter, caller: Caller): boolean {
  const [, ...asked]: [unknown, ...unknown[]] = matchParams(filter, caller) satisfies JobMatchParams
  return filter.tenantId != null || asked.some((value) => value !== null && value !== '{}' && value !== '')
}

function wrongNumber(actual: number): UserError | null {
  const { min, max } = ranges.bulkIds
  if (actual < min) return invalid(['select', 'ids'], 'Name 1 to 1,000 jobs.')
  if (actual <= max) return null
  return {
    type: 'LimitError',
    code: 'LIMIT_EXCEEDED',
    message: 'Name 1 to 1,000 jobs; more are taken by a filter.',
    path: ['select', 'ids'],
    limit: max,
    actual,
  }
}
