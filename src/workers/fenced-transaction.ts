import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { DueKinds } from '../events/wakeup.ts'
import { LeaseLost } from '../jobs/errors.ts'
import { fenceJob } from '../sql/fence-job.ts'
import { createEnqueuedKinds } from './enqueued-kinds.ts'
import type { JobTransaction } from './handler.ts'
import { jobTransaction } from './job-transaction.ts'
import type { Run } from './run.ts'

/**
 * A transaction in the middle of a run, begun with the fence: what a run writes that has lost its claim never commits (DESIGN law 6).
 * Throws LeaseLost then. `onEnqueued` follows the commit.
 */
export async function fencedTransaction<T>(
  pool: Pool,
  run: Run,
  work: (tx: JobTransaction) => Promise<T>,
  onEnqueued: (kinds: DueKinds) => void,
): Promise<T> {
  const enqueued = createEnqueuedKinds()
  const result = await inTransaction(pool, async (tx) => {
    const [held] = await fenceJob(tx, run.id, run.claim.lease)
    if (held === undefined) throw new LeaseLost()
    return work(jobTransaction(tx, { onEnqueued: enqueued.add }))
  })
  const kinds = enqueued.due()
  if (kinds !== undefined) onEnqueued(kinds)
  return result
}
