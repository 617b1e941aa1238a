import type { JobStreamFilter, NumberRange, TimeRange } from '../jobs/job-stream-filter.ts'
import type { JobStatus } from '../jobs/lifecycle.ts'
import { badText, encodePayload } from '../jobs/payload.ts'
import { mayActFor, tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { JobMatchParams } from '../sql/job-matches.ts'
import { ApiError } from './api-error.ts'
import type { RequestContext } from './context.ts'
import { parseJobId, parseNodeId } from './node-id.ts'

type Maybe<Value> = Value | null | undefined

/** The input `JobFilter`. */
export interface JobFilterInput {
  readonly status?: Maybe<readonly JobStatus[]>
  readonly kind?: Maybe<readonly string[]>
  readonly tenantId?: Maybe<readonly string[]>
  readonly id?: Maybe<readonly string[]>
  readonly tag?: Maybe<readonly string[]>
  readonly payload?: unknown
  readonly errorFingerprint?: Maybe<string>
  readonly errorText?: Maybe<string>
  readonly idempotencyKey?: Maybe<string>
  readonly correlationId?: Maybe<string>
  readonly workerId?: Maybe<string>
  readonly priority?: Maybe<{ readonly min?: Maybe<number>; readonly max?: Maybe<number> }>
  readonly attemptCount?: Maybe<{ readonly min?: Maybe<number>; readonly max?: Maybe<number> }>
  readonly createdAt?: Maybe<{ readonly from?: Maybe<Date>; readonly to?: Maybe<Date> }>
  readonly availableAt?: Maybe<{ readonly from?: Maybe<Date>; readonly to?: Maybe<Date> }>
  readonly completedAt?: Maybe<{ readonly from?: Maybe<Date>; readonly to?: Maybe<Date> }>
}

/** A filter as the database and the relay take it: bare ids, none of tenants that are not the caller's. */
export interface NarrowedFilter extends JobStreamFilter {
  readonly payloadText: string | null
  readonly errorText: string | null
}

const mostValues = 1_000

/** Reads a filter. Throws BAD_USER_INPUT where it makes no sense, FORBIDDEN where it would look into payloads without READ_PAYLOADS. */
export async function narrowJobs(
  input: Maybe<JobFilterInput>,
  caller: Caller,
  context: RequestContext,
): Promise<NarrowedFilter> {
  const filter = input ?? {}
  refuseUnreadable(filter)
  const payload = filter.payload ?? null
  const errorText = filter.errorText ?? null
  if ((payload !== null || errorText !== null) && !caller.scopes.has('READ_PAYLOADS')) {
    throw new ApiError('FORBIDDEN', 'To filter by `payload` or `errorText` needs the scope READ_PAYLOADS.')
  }
  return {
    ...plainFields(filter),
    tenantId: await ownTenants(filter.tenantId, caller, context),
    id: filter.id == null ? null : filter.id.map(parseJobId).filter((id) => id !== null),
    claimedBy: filter.workerId == null ? null : await workerName(filter.workerId, context),
    payloadText: payload === null ? null : textOf(payload),
    errorText,
  }
}

/** The parameters of `jobMatches`; the caller's own tenants where the filter names none. */
export function matchParams(filter: NarrowedFilter, caller: Caller): JobMatchParams {
  return [
    filter.tenantId ?? tenantPredicate(caller),
    filter.status ?? null,
    filter.kind ?? null,
    filter.id ?? null,
    filter.tag == null || filter.tag.length === 0 ? null : filter.tag,
    filter.payloadText,
    filter.errorFingerprint ?? null,
    filter.errorText,
    filter.idempotencyKey ?? null,
    filter.correlationId ?? null,
    filter.claimedBy ?? null,
    ...numbers(filter.priority),
    ...numbers(filter.attemptCount),
    ...times(filter.createdAt),
    ...times(filter.availableAt),
    ...times(filter.completedAt),
  ]
}

function plainFields(filter: JobFilterInput): JobStreamFilter {
  return {
    status: filter.status ?? null,
    kind: filter.kind ?? null,
    tag: filter.tag ?? null,
    errorFingerprint: filter.errorFingerprint ?? null,
    idempotencyKey: filter.idempotencyKey ?? null,
    correlationId: filter.correlationId ?? null,
    priority: range(filter.priority),
    attemptCount: range(filter.attemptCount),
    createdAt: span(filter.createdAt),
    availableAt: span(filter.availableAt),
    completedAt: span(filter.completedAt),
  }
}

/** Foreign and unknown tenants have no jobs to show. */
async function ownTenants(
  named: Maybe<readonly string[]>,
  caller: Caller,
  context: RequestContext,
): Promise<string[] | null> {
  if (named == null) return null
  const found = await Promise.all(named.map((each) => context.deps.tenantKeys.find(each)))
  return found.flatMap((tenant) => (tenant !== null && mayActFor(caller, tenant.id) ? [tenant.id] : []))
}

/** A worker is named by node id or by its name; one that is not known claimed nothing. */
async function workerName(id: string, context: RequestContext): Promise<string> {
  const key = parseNodeId(id)
  if (key?.type !== 'worker') return id
  return (await context.loaders.workers.load(key.id))?.name ?? id
}

function textOf(payload: unknown): string {
  const encoded = encodePayload(payload)
  if (encoded.ok) return encoded.text
  throw unreadable(`\`payload\`: ${encoded.problem.message}`)
}

function refuseUnreadable(filter: JobFilterInput): void {
  for (const [field, value] of Object.entries(filter)) {
    if (field === 'payload') continue
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.length > mostValues) throw unreadable(`\`${field}\` may name at most 1,000 values.`)
    for (const each of values) {
      const problem = typeof each === 'string' ? badText(each) : null
      if (problem !== null) throw unreadable(`\`${field}\` ${problem}`)
    }
  }
}

function unreadable(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The filter cannot be read. ${message}`, { reason: 'INVALID' })
}

function range(given: JobFilterInput['priority']): NumberRange | null {
  return given == null ? null : { min: given.min ?? null, max: given.max ?? null }
}

function span(given: JobFilterInput['createdAt']): TimeRange | null {
  return given == null ? null : { from: given.from ?? null, to: given.to ?? null }
}

function numbers(given: Maybe<NumberRange>): [number | null, number | null] {
  return [given?.min ?? null, given?.max ?? null]
}

function times(given: Maybe<TimeRange>): [Date | null, Date | null] {
  return [given?.from ?? null, given?.to ?? null]
}
