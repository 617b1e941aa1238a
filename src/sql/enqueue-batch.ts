import type { EnqueueOutcome } from './enqueue-job.ts'
import type { PlainList } from './settle-parts.ts'
import { statement } from './statement.ts'

/** What became of one job of a batch, in the order given. */
export interface BatchedJob {
  readonly jobId: string
  readonly outcome: EnqueueOutcome
  /** Milliseconds since 1970 by the database's clock; the same for all, so that it stands in the first row alone. */
  readonly createdMs: number | null
  /** These as stored, and for `created` alone: with them a new job's row is known without reading it. */
  readonly payloadText: string | null
  readonly priority: number | null
  readonly maxAttempts: number | null
  /** Null where it is the time of creation, as it nearly always is. */
  readonly availableMs: number | null
}

/** One row of the batch at each index; what is missing at the end is null. */
export type BatchColumns = [
  tenantIds: PlainList,
  kinds: readonly string[],
  payloads: readonly string[],
  priorities: readonly (number | null)[],
  /** Instants; null where the job runs at once or after a time. */
  at: readonly (string | null)[],
  /** Times from now by the database's clock. */
  afterMs: readonly (number | null)[],
  maxAttempts: readonly (number | null)[],
  keys: readonly (string | null)[],
  replaces: readonly boolean[],
  /** JSON: tags, correlation_id, trace_context; actor and request_id where rows of several callers share the statement. */
  extras: readonly (string | null)[],
  actor: string | null,
  requestId: string | null,
]

export const enqueueBatch = statement<BatchColumns, BatchedJob>(
  'enqueue_batch',
  `-- (nothing) -> pending for each row, or the answer that its key existed; at most 1,000 rows
select job_id as "jobId", outcome, payload::text as "payloadText", priority, max_attempts as "maxAttempts",
       case when ord = 1 then date_part('epoch', now()) * 1000 end as "createdMs",
       case when available_at <> now() then date_part('epoch', available_at) * 1000 end as "availableMs"
  from mdm.enqueue_batch($1::uuid[], $2::text[], $3::text[], $4::int[], $5::timestamptz[], $7::int[], $8::text[], $9::bool[], $10::jsonb[], $11, $12, $6::float8[])
 order by ord`,
)
