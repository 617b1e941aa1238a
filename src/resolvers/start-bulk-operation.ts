import { badText } from '../jobs/payload.ts'
import { actorOf, tenantPredicate, type Caller, type Scope } from '../jobs/permissions.ts'
import { outsideLength, outsideRange, ranges } from '../jobs/ranges.ts'
import type { BulkAction, BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { findBulkOperationByKey } from '../sql/find-bulk-operation-by-key.ts'
import { resumeBulkOperation } from '../sql/resume-bulk-operation.ts'
import { startBulkOperation as start } from '../sql/start-bulk-operation.ts'
import type { Queryable } from '../sql/statement.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { previewBulkOperation, type BulkPreview } from './preview-bulk-operation.ts'
import { badReason } from './reason.ts'
import { selectBulkJobs, type BulkSelection, type JobSelectionInput } from './select-bulk-jobs.ts'
import { invalid, type UserError } from './user-error.ts'

/** The input `BulkJobsInput`. */
export interface BulkJobsInput {
  readonly select: JobSelectionInput
  readonly dryRun: boolean
  readonly expectedCount?: number | null | undefined
  readonly limit: number
  readonly ratePerSecond?: number | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly reason?: string | null | undefined
}

export interface BulkResult {
  readonly operation: BulkOperationRow | null
  readonly preview: BulkPreview | null
  readonly errors: readonly UserError[]
}

/** Of 100,000 jobs; the API's connections wait no longer than 4.5 seconds. */
const startWithinMs = 4_000

const needs: Readonly<Record<BulkAction, Scope>> = {
  replay: 'MANAGE_METADATA',
  discard: 'MANAGE_METADATA',
  cancel: 'CONTROL_JOBS',
  stop: 'MANAGE_METADATA',
}

/**
 * An action on many jobs: says what it would take, or writes down what matches in this instant, for the instances to work it off.
 * `previewed`: whether the caller wants to see that in either case.
 */
export async function startBulkOperation(
  action: BulkAction,
  input: BulkJobsInput,
  context: RequestContext,
  { previewed }: { readonly previewed: boolean },
): Promise<BulkResult> {
  const caller = authorize(context, [[needs[action]]])
  const errors = wrongWith(action, input)
  if (errors.length > 0) return refused(errors)
  const selection = await selectBulkJobs(action, input.select, context, caller)
  if ('type' in selection) return refused([selection])
  const preview = previewed ? await previewBulkOperation(selection, context) : null
  if (input.dryRun) return { operation: null, preview, errors: [] }
  const started = await begin(action, input, selection, context, caller)
  return 'type' in started ? refused([started]) : { operation: started, preview, errors: [] }
}

async function begin(
  action: BulkAction,
  input: BulkJobsInput,
  { match, followsClaims, described }: BulkSelection,
  context: RequestContext,
  caller: Caller,
): Promise<BulkOperationRow | UserError> {
  const { pools, wakeup } = context.deps
  const { limit, expectedCount = null, ratePerSecond = null } = input
  const actor = actorOf(caller.principal)
  const scope = tenantPredicate(caller)?.toSorted().join(',') ?? '*'
  const key = input.idempotencyKey ?? null
  const request = JSON.stringify({ action, select: described, limit, ratePerSecond })
  const known = key === null ? null : await findKnown(actor, scope, key, request, context)
  if (known !== null) return known
  const write = (db: Queryable) =>
    start(
      db,
      ...match,
      action,
      limit,
      expectedCount,
      ratePerSecond,
      followsClaims,
      actor,
      scope,
      key,
      request,
      input.reason || null,
      context.requestId,
    )
  const [row] = await boundedRead(pools.api, write, startWithinMs)
  if (row!.id !== null) {
    wakeup.signal('control')
    wakeup.signal('journal')
    tellStart(row as BulkOperationRow, context)
    return row as BulkOperationRow
  }
  if (expectedCount !== null && row!.matching !== expectedCount) return countMismatch(expectedCount, row!.matching)
  // Somebody else used the key in the same instant.
  return (await findKnown(actor, scope, key!, request, context))!
}

/** The operation behind a key. One that met a fault goes on where it stopped. */
async function findKnown(
  actor: string,
  scope: string,
  key: string,
  request: string,
  { deps }: RequestContext,
): Promise<BulkOperationRow | UserError | null> {
  const [known] = await findBulkOperationByKey(deps.pools.api, actor, scope, key, request)
  if (known === undefined) return null
  if (!known.isSame) {
    const message = 'This key was used before for another action, selection, limit or rate. Use a new one.'
    return invalid(['idempotencyKey'], message)
  }
  if (known.status !== 'faulted') return known
  const [resumed] = await resumeBulkOperation(deps.pools.api, known.id)
  deps.wakeup.signal('control')
  if (resumed !== undefined) tellStart(resumed, { deps })
  return resumed ?? known
}

function tellStart(
  { id: operationId, action, matched, ratePerSecond, createdBy: by }: BulkOperationRow,
  { deps }: Pick<RequestContext, 'deps'>,
): void {
  deps.events.emit({ type: 'bulk:started', operationId, action, matched, ratePerSecond, by })
}

function wrongWith(action: BulkAction, input: BulkJobsInput): UserError[] {
  const { limit, expectedCount, ratePerSecond, idempotencyKey } = input
  const limits = outsideRange('`limit`', limit, ranges.bulkLimit)
  const isRate = ratePerSecond == null || (ratePerSecond > 0 && ratePerSecond <= ranges.bulkRate.max)
  const key =
    idempotencyKey == null
      ? null
      : (outsideLength('idempotencyKey', idempotencyKey, ranges.idempotencyKey) ?? badText(idempotencyKey))
  return [
    ...(limits === null ? [] : [invalid(['limit'], limits)]),
    ...(isRate ? [] : [invalid(['ratePerSecond'], '`ratePerSecond` lies above 0 and up to 10,000.')]),
    ...(expectedCount == null || expectedCount >= 0
      ? []
      : [invalid(['expectedCount'], '`expectedCount` is a number of jobs: 0 or more.')]),
    ...(action === 'discard' && !input.dryRun && expectedCount == null
      ? [
          invalid(
            ['expectedCount'],
            'A discard cannot be undone: say how many jobs you expect it to take. A dry run counts them.',
          ),
        ]
      : []),
    ...(key === null ? [] : [invalid(['idempotencyKey'], key)]),
    ...badReason(input.reason),
  ]
}

function countMismatch(expected: number, actual: number): UserError {
  return {
    type: 'LimitError',
    code: 'COUNT_MISMATCH',
    message: `You expected ${expected} jobs, but ${actual} match. Nothing was changed. Look at them and decide again.`,
    path: ['expectedCount'],
    limit: expected,
    actual,
  }
}

function refused(errors: readonly UserError[]): BulkResult {
  return { operation: null, preview: null, errors }
}
