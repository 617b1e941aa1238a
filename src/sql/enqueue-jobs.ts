import type { Queryable } from './statement.ts'
import { statement } from './statement.ts'

/** A job to enqueue from code. */
export interface EnqueueInput {
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Key or id. Default: `default`. */
  readonly tenant?: string
  readonly idempotencyKey?: string
  readonly onConflict?: 'ignore' | 'update'
  readonly priority?: number
  readonly availableAt?: Date
  readonly maxAttempts?: number
  readonly tags?: readonly string[]
  readonly correlationId?: string
}

export type EnqueueOutcome = 'created' | 'duplicate' | 'updated' | 'duplicate_mismatch'

export interface Enqueued {
  readonly jobId: string
  readonly outcome: EnqueueOutcome
}

export const enqueueJobs = statement<[jobsJson: string, notify: boolean], { job_id: string; outcome: EnqueueOutcome }>(
  'enqueue_jobs',
  `-- (nothing) -> pending, in the caller's transaction; the answers in order
select job_id, outcome from mdm.enqueue_jobs($1::jsonb, $2)`,
)

/** One job for `mdm.enqueue_jobs`. */
export function enqueueJson(job: EnqueueInput): Record<string, unknown> {
  return {
    kind: job.kind,
    payload: job.payload,
    tenant: job.tenant ?? 'default',
    idempotency_key: job.idempotencyKey,
    on_conflict: job.onConflict,
    priority: job.priority,
    available_at: job.availableAt?.toISOString(),
    max_attempts: job.maxAttempts,
    tags: job.tags,
    correlation_id: job.correlationId,
  }
}

/** Enqueues one job in the caller's transaction; `notify` wakes the workers at its commit. */
export async function enqueueOne(db: Queryable, job: EnqueueInput, notify = true): Promise<Enqueued> {
  const [row] = await enqueueJobs(db, JSON.stringify([enqueueJson(job)]), notify)
  return { jobId: row!.job_id, outcome: row!.outcome }
}
