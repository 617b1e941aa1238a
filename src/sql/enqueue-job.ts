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

type JobValues = [
  kind: string,
  payloadText: string,
  tenant: string,
  idempotencyKey: string | null,
  onConflict: 'ignore' | 'update',
  priority: number | null,
  availableAt: string | null,
  maxAttempts: number | null,
  tags: readonly string[],
  correlationId: string | null,
  notify: boolean,
]

export const enqueueJob = statement<JobValues, { job_id: string; outcome: EnqueueOutcome }>(
  'enqueue_job',
  `-- (nothing) -> pending, in the caller's transaction
select job_id, outcome
  from mdm.enqueue_job($1, $2::jsonb, $3, $4, $5, $6::int, $7::timestamptz, $8::int, $9::text[], $10, $11)`,
)

/** Enqueues one job in the caller's transaction; `notify` wakes the workers at its commit. */
export async function enqueueOne(db: Queryable, job: EnqueueInput, notify = true): Promise<Enqueued> {
  const [row] = await enqueueJob(
    db,
    job.kind,
    JSON.stringify(job.payload),
    job.tenant ?? 'default',
    job.idempotencyKey ?? null,
    job.onConflict ?? 'ignore',
    job.priority ?? null,
    job.availableAt?.toISOString() ?? null,
    job.maxAttempts ?? null,
    job.tags ?? [],
    job.correlationId ?? null,
    notify,
  )
  return { jobId: row!.job_id, outcome: row!.outcome }
}
