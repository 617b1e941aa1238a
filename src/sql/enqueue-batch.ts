import type { EnqueueOutcome } from './enqueue-jobs.ts'
import { statement } from './statement.ts'

/** What became of one job of a batch, in the order given. */
export interface BatchedJob {
  readonly jobId: string
  readonly outcome: EnqueueOutcome
  /** As stored, for `created`: with these a new job's row is known without reading it. */
  readonly payloadText: string | null
  readonly priority: number
  readonly maxAttempts: number
  readonly createdAt: Date
  readonly availableAt: Date
}

/** One row of the batch at each index. */
export type BatchColumns = [
  tenantIds: readonly string[],
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
with given as materialized (
  select i.ord::int as ord, i.kind, i.payload, i.priority, i.max_attempts,
         coalesce(i.at, now() + i.after_ms * interval '1 millisecond') as available_at
    from unnest($2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::float8[], $7::int[])
         with ordinality i(kind, payload, priority, at, after_ms, max_attempts, ord)
)
select e.job_id as "jobId", e.outcome, case when e.outcome = 'created' then g.payload::jsonb::text end as "payloadText",
       coalesce(g.priority, k.priority) as priority, coalesce(g.max_attempts, k.max_attempts) as "maxAttempts",
       now() as "createdAt", coalesce(g.available_at, now()) as "availableAt"
  from mdm.enqueue_batch($1::uuid[], $2::text[], $3::text[], $4::int[], (select array_agg(available_at order by ord) from given), $7::int[],
                         $8::text[], $9::bool[], $10::jsonb[], $11, $12) e
  join given g on g.ord = e.ord
  join mdm.aa_job_kind k on k.name = g.kind
 order by e.ord`,
)
