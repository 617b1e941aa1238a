import type { JobEvent } from './job-event.ts'
import type { JobStatus } from './lifecycle.ts'

/** A closed span of whole numbers; null: open to that side. */
export interface NumberRange {
  readonly min?: number | null
  readonly max?: number | null
}

/** From (inclusive) to (exclusive); null: open to that side. */
export interface TimeRange {
  readonly from?: Date | null
  readonly to?: Date | null
}

/**
 * Narrows a stream of many jobs. Fields combine with AND, values inside a list with OR (tags: all of them); null or absent: no restriction.
 * Ids are bare uuids, worker is its name.
 */
export interface JobStreamFilter {
  readonly status?: readonly JobStatus[] | null
  readonly kind?: readonly string[] | null
  readonly tenantId?: readonly string[] | null
  readonly id?: readonly string[] | null
  readonly tag?: readonly string[] | null
  readonly errorFingerprint?: string | null
  readonly idempotencyKey?: string | null
  readonly correlationId?: string | null
  readonly claimedBy?: string | null
  readonly priority?: NumberRange | null
  readonly attemptCount?: NumberRange | null
  readonly createdAt?: TimeRange | null
  readonly availableAt?: TimeRange | null
  readonly completedAt?: TimeRange | null
}

/** What a filter looks at besides the event itself; of a discarded job from its snapshot. */
export interface FilteredJob {
  readonly priority: number
  readonly attempts: number
  readonly createdAt: Date
  readonly availableAt: Date
  readonly completedAt: Date | null
  readonly claimedBy: string | null
  readonly errorFingerprint: string | null
  readonly idempotencyKey: string | null
  readonly correlationId: string | null
  readonly tags: readonly string[] | null
}

/** Whether an event can be the filter's business at all, by what the event alone says. */
export function concerns(filter: JobStreamFilter, event: JobEvent): boolean {
  return (
    isOneOf(filter.tenantId, event.tenantId) &&
    isOneOf(filter.id, event.jobId) &&
    (event.kind === null || isOneOf(filter.kind, event.kind)) &&
    (holdsStatus(filter, event.fromStatus) || holdsStatus(filter, event.toStatus))
  )
}

/** Whether the job matches after this event. What is not known of a job that has no row any more is taken to match. */
export function matchesAfter(filter: JobStreamFilter, event: JobEvent, job: FilteredJob | null): boolean {
  return (
    holdsStatus(filter, event.toStatus) &&
    (job === null || matchesFixed(filter, job)) &&
    (job === null || matchesChanging(filter, job))
  )
}

/** Whether the job matched before this event. What the event may have changed, and does not name, is taken to have matched. */
export function matchedBefore(filter: JobStreamFilter, event: JobEvent, job: FilteredJob | null): boolean {
  if (!holdsStatus(filter, event.fromStatus)) return false
  if (job === null) return true
  return matchesFixed(filter, job) && matchesChanging({ ...filter, ...forgotten(event) }, jobBefore(event, job))
}

/** Whether a job matches as it is now. */
export function matchesNow(filter: JobStreamFilter, job: FilteredJob & NamedJob): boolean {
  return (
    isOneOf(filter.tenantId, job.tenantId) &&
    isOneOf(filter.id, job.id) &&
    isOneOf(filter.kind, job.kind) &&
    holdsStatus(filter, job.status) &&
    matchesFixed(filter, job) &&
    matchesChanging(filter, job)
  )
}

interface NamedJob {
  readonly id: string
  readonly tenantId: string
  readonly kind: string
  readonly status: JobStatus
}

/** The fields of the filter that say nothing about the time before this event. */
function forgotten(event: JobEvent): Partial<JobStreamFilter> {
  switch (event.type) {
    case 'RETRY_SCHEDULED':
    case 'RECOVERED':
    case 'DEAD_LETTERED':
      return { errorFingerprint: null, availableAt: null, completedAt: null, claimedBy: null }
    case 'RELEASED':
    case 'REPLAYED':
      return { attemptCount: null, availableAt: null, completedAt: null, claimedBy: null }
    case 'SUCCEEDED':
    case 'STOPPED':
    case 'CANCELLED':
      return { completedAt: null, errorFingerprint: null }
    case 'RESCHEDULED':
      return { availableAt: null }
    case 'UPDATED':
      return { availableAt: null, priority: null }
    case 'CLAIMED':
    case 'ENQUEUED':
    case 'REPRIORITIZED':
    case 'CANCEL_REQUESTED':
    case 'DISCARDED':
      return {}
  }
}

function jobBefore(event: JobEvent, job: FilteredJob): FilteredJob {
  if (event.type === 'CLAIMED') return { ...job, attempts: job.attempts - 1, claimedBy: null }
  if (event.fromPriority !== null) return { ...job, priority: event.fromPriority }
  return job
}

function matchesFixed(filter: JobStreamFilter, job: FilteredJob): boolean {
  return (
    isEqual(filter.idempotencyKey, job.idempotencyKey) &&
    isEqual(filter.correlationId, job.correlationId) &&
    isWithin(filter.createdAt, job.createdAt) &&
    (filter.tag ?? []).every((tag) => job.tags?.includes(tag) ?? false)
  )
}

function matchesChanging(filter: JobStreamFilter, job: FilteredJob): boolean {
  return (
    isEqual(filter.errorFingerprint, job.errorFingerprint) &&
    isEqual(filter.claimedBy, job.claimedBy) &&
    isBetween(filter.priority, job.priority) &&
    isBetween(filter.attemptCount, job.attempts) &&
    isWithin(filter.availableAt, job.availableAt) &&
    isWithin(filter.completedAt, job.completedAt)
  )
}

function holdsStatus({ status }: JobStreamFilter, value: JobStatus | null): boolean {
  return value !== null && isOneOf(status, value)
}

function isOneOf<T>(allowed: readonly T[] | null | undefined, value: T): boolean {
  return allowed == null || allowed.includes(value)
}

function isEqual(wanted: string | null | undefined, value: string | null): boolean {
  return wanted == null || wanted === value
}

function isBetween(range: NumberRange | null | undefined, value: number): boolean {
  return value >= (range?.min ?? -Infinity) && value <= (range?.max ?? Infinity)
}

function isWithin(range: TimeRange | null | undefined, value: Date | null): boolean {
  if (range?.from == null && range?.to == null) return true
  if (value === null) return false
  return (range.from == null || value >= range.from) && (range.to == null || value < range.to)
}
