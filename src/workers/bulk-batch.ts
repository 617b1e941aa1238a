import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { advanceBulkOperation } from '../sql/advance-bulk-operation.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { cancelJobs } from '../sql/cancel-jobs.ts'
import { completeBulkOperation } from '../sql/complete-bulk-operation.ts'
import { discardJobs } from '../sql/discard-jobs.ts'
import { readBulkTargets, type BulkTarget } from '../sql/read-bulk-targets.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { replayJobs } from '../sql/replay-jobs.ts'
import { requestCancels } from '../sql/request-cancels.ts'
import { requestStops } from '../sql/request-stops.ts'
import { stopJobs } from '../sql/stop-jobs.ts'
import { takeBulkOperation } from '../sql/take-bulk-operation.ts'
import type { FollowUps } from './follow-ups.ts'

/** What a batch did. */
export interface BulkBatch {
  /** As it was before. */
  readonly operation: BulkOperationRow
  readonly succeeded: number
  readonly skipped: number
  /** Whether it was the last one. */
  readonly completed: boolean
  /** Running jobs were asked to end: their workers have to hear of it. */
  readonly requested: boolean
}

/** The database refused a step of an operation: it would refuse it again. */
export class BulkFault extends Error {
  readonly operation: BulkOperationRow
  constructor(operation: BulkOperationRow, cause: unknown) {
    super(`A batch of the bulk operation ${operation.id} failed.`, { cause })
    this.operation = operation
  }
}

/** Locks are held for milliseconds, and those who claim pass over them. */
const mostAtOnce = 100
const batchesPerSecond = 4
/** As long as a batch took the next one waits, and at least this: at most half the time is spent on it. */
const leastPauseMs = 5

/**
 * One batch of the operation that waits longest, in one transaction: its moves, their journal rows and the place that was reached commit together,
 * so that whoever goes on after a death neither doubles nor leaves out a job. Null: nothing is due, or others are at it.
 */
export async function runBulkBatch(
  pool: Pool,
  followUps: FollowUps,
  onFollowUpFailed: (kind: string, error: Error) => void,
): Promise<BulkBatch | null> {
  const startedAt = performance.now()
  let taken: BulkOperationRow | undefined
  try {
    return await inTransaction(pool, async (tx) => {
      ;[taken] = await takeBulkOperation(tx)
      if (taken === undefined) return null
      const operation = taken
      const targets = await readBulkTargets(
        tx,
        operation.id,
        operation.succeeded + operation.skipped,
        sizeOf(operation),
      )
      const batch = sameTreatment(targets, followUps)
      const [first] = batch
      const follow = first?.kind == null ? undefined : followUps.get(first.kind)
      const moved =
        first === undefined
          ? nothing
          : follow === undefined
            ? await move(tx, operation, batch)
            : await moveFollowed(tx, operation, first, follow, onFollowUpFailed)
      const tookMs = performance.now() - startedAt
      const { ratePerSecond } = operation
      const pauseMs = ratePerSecond === null ? Math.max(tookMs, leastPauseMs) : (batch.length * 1_000) / ratePerSecond
      await advanceBulkOperation(tx, operation.id, moved.succeeded, batch.length - moved.succeeded, pauseMs)
      const done = operation.succeeded + operation.skipped + batch.length
      const isLast = batch.length === 0 || done >= operation.matched
      const ended = isLast ? await completeBulkOperation(tx, operation.id) : []
      return { operation, ...moved, skipped: batch.length - moved.succeeded, completed: ended.length > 0 }
    })
  } catch (error) {
    throw taken === undefined ? error : new BulkFault(taken, error)
  }
}

interface Moved {
  readonly succeeded: number
  readonly requested: boolean
}

const nothing: Moved = { succeeded: 0, requested: false }

function sizeOf({ ratePerSecond }: BulkOperationRow): number {
  return ratePerSecond === null ? mostAtOnce : Math.min(Math.ceil(ratePerSecond / batchesPerSecond), mostAtOnce)
}

/** Jobs up to the first whose own rows follow; such a one goes alone, since its `onFailure` may take a while. */
function sameTreatment(targets: readonly BulkTarget[], followUps: FollowUps): readonly BulkTarget[] {
  const followed = targets.findIndex(({ kind }) => kind !== null && followUps.has(kind))
  if (followed === -1) return targets
  return followed === 0 ? targets.slice(0, 1) : targets.slice(0, followed)
}

/** The ordinary move of each job, as far as it has not moved on. */
async function move(tx: PoolClient, operation: BulkOperationRow, targets: readonly BulkTarget[]): Promise<Moved> {
  const { tenantIds, createdBy, reason, requestId, followsClaims } = operation
  const params = [
    targets.map(({ jobId }) => jobId),
    targets.map(({ revision }) => revision),
    tenantIds,
    createdBy,
    reason,
    requestId,
  ] as const
  switch (operation.action) {
    case 'replay':
      return { succeeded: (await replayJobs(tx, ...params)).length, requested: false }
    case 'discard':
      return { succeeded: (await discardJobs(tx, ...params)).length, requested: false }
    case 'cancel':
      return endOrAsk(await cancelJobs(tx, ...params), await requestCancels(tx, ...params, followsClaims))
    case 'stop':
      return endOrAsk(await stopJobs(tx, ...params), await requestStops(tx, ...params, followsClaims))
  }
}

function endOrAsk(ended: readonly unknown[], asked: readonly unknown[]): Moved {
  return { succeeded: ended.length + asked.length, requested: asked.length > 0 }
}

/** One job whose kind's own rows follow. Where they cannot, the job is left as it is, and the operation goes on with the next. */
async function moveFollowed(
  tx: PoolClient,
  operation: BulkOperationRow,
  target: BulkTarget,
  follow: NonNullable<ReturnType<FollowUps['get']>>,
  onFailed: (kind: string, error: Error) => void,
): Promise<Moved> {
  const { action, reason } = operation
  const [job] = await readJobs(tx, [target.jobId], operation.tenantIds)
  if (job === undefined) return nothing
  await tx.query('savepoint followed')
  const moved = await move(tx, operation, [target])
  // Who was asked to end is followed when it has ended.
  if (moved.succeeded === 0 || moved.requested) return moved
  const error = action === 'stop' || action === 'cancel' ? reason : job.lastError
  try {
    await follow(tx, job, { move: action, error })
    // Fails where a statement had failed and its error was caught.
    await tx.query('release savepoint followed')
    return moved
  } catch (failure) {
    await tx.query('rollback to savepoint followed')
    onFailed(job.kind, failure as Error)
    return nothing
  }
}
