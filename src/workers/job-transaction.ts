import type { PoolClient, QueryConfig } from 'pg'
import { enqueueOne } from '../sql/enqueue-job.ts'
import type { JobTransaction } from './handler.ts'

/** What a kind writes may take longer than our own statements. */
const answerWithinMs = 10 * 60_000

/** A transaction as a kind's own code sees it; told before each enqueue. */
export function jobTransaction(tx: PoolClient, onEnqueued?: () => void): JobTransaction {
  return {
    query: (text, values) => tx.query({ text, values, query_timeout: answerWithinMs } as QueryConfig),
    enqueue(job) {
      onEnqueued?.()
      // No NOTIFY inside a job's transaction: it serialises commits. The wake-up follows the commit.
      return enqueueOne(tx, job, false)
    },
  }
}
