import type { PoolClient, QueryConfig } from 'pg'
import { enqueueOne, type EnqueueInput } from '../sql/enqueue-job.ts'
import type { JobTransaction } from './handler.ts'

/** What a kind writes may take longer than our own statements. */
const answerWithinMs = 10 * 60_000

interface JobTransactionOptions {
  /** Told before each enqueue; the wake-up that follows the commit is for whoever listens. Missing: the commit itself wakes the workers. */
  readonly onEnqueued?: (job: EnqueueInput) => void
  /** Once it is aborted nothing more is sent: the session may be another one's by then. */
  readonly signal?: AbortSignal
}

/** A transaction as a kind's own code sees it. */
export function jobTransaction(tx: PoolClient, { onEnqueued, signal }: JobTransactionOptions = {}): JobTransaction {
  return {
    async query(text, values) {
      signal?.throwIfAborted()
      return tx.query({ text, values, query_timeout: answerWithinMs } as QueryConfig)
    },
    async enqueue(job) {
      signal?.throwIfAborted()
      onEnqueued?.(job)
      // A NOTIFY serialises commits: not where a job ends well, which is most of them.
      return enqueueOne(tx, job, onEnqueued === undefined)
    },
  }
}
