import { statement } from './statement.ts'

type JobValues = [
  tenantId: string,
  kind: string,
  payloadText: string,
  /** Null: the kind's. */
  priority: number | null,
  idempotencyKey: string | null,
  traceContext: string | null,
  actor: string,
  requestId: string,
]

export const enqueueWithin = statement<JobValues, { jobId: string }>(
  'enqueue_within',
  `-- (nothing) -> pending within a transaction that changes what the job is for, or the answer that its key existed
select job_id as "jobId"
  from mdm.enqueue_batch(array[$1::uuid], array[$2], array[$3], array[$4::int], '{}', '{}', array[$5], '{}',
         array[jsonb_strip_nulls(jsonb_build_object('trace_context', $6::text))], $7, $8)`,
)
