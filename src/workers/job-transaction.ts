import type { PoolClient } from 'pg'
import { enqueueOne } from '../sql/enqueue-jobs.ts'
import type { JobTransaction } from './handler.ts'

/** A transaction as a kind's own code sees it; told before each enqueue. */
export function jobTransaction(tx: PoolClient, onEnqueued?: () => void): JobTransaction {
  return {
    query: (text, values) => tx.query(text, values),
    enqueue(job) {
      onEnqueued?.()
      // No NOTIFY inside a job's transaction: it serialises commits. The wake-up follows the commit.
      return enqueueOne(tx, job, false)
    },
  }
}
