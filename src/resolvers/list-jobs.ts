import type { JobStatus } from '../jobs/lifecycle.ts'
import { countAllJobs } from '../sql/count-all-jobs.ts'
import { countDeadJobs } from '../sql/count-dead-jobs.ts'
import { countJobsOfTenants } from '../sql/count-jobs-of-tenants.ts'
import { countQueuedJobs } from '../sql/count-queued-jobs.ts'
import { findLivingJobs } from '../sql/find-living-jobs.ts'
import type { JobMatchParams } from '../sql/job-matches.ts'
import type { PlacedJob } from '../sql/list-jobs-parts.ts'
import type { JobRow } from '../sql/job-row.ts'
import { listTenantIds } from '../sql/list-tenant-ids.ts'
import type { Queryable } from '../sql/statement.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { matchParams, narrowJobs, type JobFilterInput } from './job-filter.ts'
import { byTenant, jobOrders, mostTenantWays, type JobOrderField } from './job-order.ts'
import { pageOf, planPage, type Page, type PageArgs } from './page.ts'

interface JobsInput extends PageArgs {
  readonly filter?: JobFilterInput | null | undefined
  readonly orderBy: { readonly field: JobOrderField; readonly direction: 'ASC' | 'DESC' }
  /** Whether the position of the read is asked for: it has to be taken before. */
  readonly streamCursor: boolean
}

/** A count that never looks at more rows than asked for. */
export interface Count {
  readonly count: number
  readonly precision: 'EXACT' | 'AT_LEAST'
}

export interface JobPage extends Page<JobRow> {
  readonly streamCursor: string | null
  /** How many match, counted up to `atMost`. */
  readonly count: (atMost: number) => Promise<Count>
}

const mostCounted = 100_000
/** More of them are walked past sooner than sorted. */
const mostSorted = 5_000

/** The caller's jobs, in pages that stay as they are while jobs come and go. */
export async function listJobs(input: JobsInput, context: RequestContext): Promise<JobPage> {
  const caller = authorize(context, [['READ_JOBS']])
  const { field, direction } = input.orderBy
  refuseOrder(field, input.filter?.status ?? null)
  const plan = planPage(input)
  const filter = await narrowJobs(input.filter, caller, context)
  const match = matchParams(filter, caller)
  const { pools, relay } = context.deps
  const streamCursor = input.streamCursor ? await relay.streamCursor() : null
  const order = jobOrders[field]
  const descending = (direction === 'DESC') !== plan.backward
  const rows = await boundedRead(pools.api, async (db) => {
    const narrowed = field === 'CREATED_AT' ? await nameTenants(db, await nameLivingJobs(db, match)) : match
    return order.read(db, narrowed, plan.cursor, descending, plan.size + 1)
  })
  return {
    ...pageOf<PlacedJob>(plan, rows, order.cursorOf),
    streamCursor,
    count: (atMost) => count(match, atMost, context),
  }
}

/** Each order goes along an index; others would have to sort everything. */
function refuseOrder(field: JobOrderField, statuses: readonly JobStatus[] | null): void {
  const only = (...allowed: JobStatus[]) =>
    statuses !== null && statuses.length > 0 && statuses.every((status) => allowed.includes(status))
  if ((field === 'PRIORITY' || field === 'AVAILABLE_AT') && !only('pending')) {
    throw invalidOrder(`${field} needs the filter status: [PENDING].`)
  }
  if (field === 'COMPLETED_AT' && !only('dlq', 'failed'))
    throw invalidOrder('COMPLETED_AT needs a filter with the status DLQ, FAILED or both.')
}

function invalidOrder(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `Jobs cannot be sorted so: ${message}`, { reason: 'INVALID' })
}

/**
 * The few that are not done lie far apart in a long history: where only such are asked for, they are looked up first and then
 * sorted by birth, instead of walking past all that is done.
 */
async function nameLivingJobs(db: Queryable, match: JobMatchParams): Promise<JobMatchParams> {
  const [, statuses, , ids] = match
  if (ids !== null || statuses === null || statuses.includes('done')) return match
  const found = await findLivingJobs(db, ...match, mostSorted + 1)
  return found.length > mostSorted
    ? match
    : (match.with(
        3,
        found.map(({ id }) => id),
      ) as JobMatchParams)
}

/** Of few tenants each one's births have an index of their own; the journal as a whole is full of other rows. */
async function nameTenants(db: Queryable, match: JobMatchParams): Promise<JobMatchParams> {
  const [tenantIds, , , ids] = match
  if (tenantIds !== null || ids !== null) return match
  const all = await listTenantIds(db, mostTenantWays + 1)
  return all.length > mostTenantWays
    ? match
    : (match.with(
        0,
        all.map(({ id }) => id),
      ) as JobMatchParams)
}

async function count(match: JobMatchParams, atMost: number, context: RequestContext): Promise<Count> {
  if (atMost < 1 || atMost > mostCounted)
    throw new ApiError('BAD_USER_INPUT', '`atMost` lies between 1 and 100,000.', { reason: 'INVALID' })
  const [row] = await boundedRead(context.deps.pools.api, (db) => counterOf(match)(db, ...match, atMost + 1))
  const found = row?.count ?? 0
  return found > atMost ? { count: atMost, precision: 'AT_LEAST' } : { count: found, precision: 'EXACT' }
}

function counterOf(match: JobMatchParams) {
  const statuses = match[1]
  if (statuses?.every((status) => status === 'pending')) return countQueuedJobs
  if (statuses?.every((status) => status === 'dlq' || status === 'failed')) return countDeadJobs
  return byTenant(match) ? countJobsOfTenants : countAllJobs
}
