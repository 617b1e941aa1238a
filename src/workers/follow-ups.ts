import type { PoolClient } from 'pg'
import type { JobRow } from '../sql/job-row.ts'
import type { OwnKind } from './define-kind.ts'
import type { FailureOutcome, JobFacts } from './handler.ts'
import { jobTransaction } from './job-transaction.ts'

/** `onFailure` of the kinds that have one, by kind, for moves that a person makes in this process. */
export function followUpsOf(
  ownKinds: readonly OwnKind[],
): ReadonlyMap<string, (tx: PoolClient, job: JobRow, outcome: FailureOutcome) => Promise<void>> {
  return new Map(
    ownKinds.flatMap(({ name, onFailure }) =>
      onFailure === null
        ? []
        : [
            [
              name,
              async (tx: PoolClient, job: JobRow, outcome: FailureOutcome) =>
                onFailure(jobTransaction(tx), factsOf(job), outcome),
            ],
          ],
    ),
  )
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
