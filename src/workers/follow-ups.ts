import type { PoolClient } from 'pg'
import type { JobRow } from '../sql/job-row.ts'
import type { OwnKind } from './define-kind.ts'
import type { FailureFollower, FailureOutcome, JobFacts } from './handler.ts'
import { jobTransaction } from './job-transaction.ts'

/** `onFailure` of the kinds that have one, by kind, for moves that are not made by the worker that has the run. */
export type FollowUps = ReadonlyMap<string, (tx: PoolClient, job: JobRow, outcome: FailureOutcome) => Promise<void>>

export function followUpsOf(ownKinds: readonly OwnKind[]): FollowUps {
  return new Map(
    ownKinds.flatMap(({ name, onFailure }) =>
      onFailure === null
        ? []
        : [
            [
              name,
              async (tx: PoolClient, job: JobRow, outcome: FailureOutcome) =>
                follow(tx, onFailure, factsOf(job), outcome),
            ],
          ],
    ),
  )
}

/** Whoever makes the move holds the job meanwhile, and maintenance its lock: one that hangs must not hang them. */
const followWithinMs = 30_000

/** Calls a kind's `onFailure` in the transaction of a move. Throws what it throws, and an Error where it takes longer than 30 s. */
export async function follow(
  tx: PoolClient,
  onFailure: FailureFollower,
  job: JobFacts,
  outcome: FailureOutcome,
): Promise<void> {
  const limit = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`onFailure did not end within ${followWithinMs / 1_000} s.`)
    limit.abort(error)
    late.reject(error)
  }, followWithinMs)
  try {
    await Promise.race([onFailure(jobTransaction(tx, { signal: limit.signal }), job, outcome), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function factsOf({
  id,
  tenantId,
  kind,
  attempts,
  maxAttempts,
  priority,
  createdAt,
  availableAt,
  idempotencyKey,
  correlationId,
}: JobRow): JobFacts {
  return { id, tenantId, kind, attempts, maxAttempts, priority, createdAt, availableAt, idempotencyKey, correlationId }
}
