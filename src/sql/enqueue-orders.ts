import type { EnqueueOutcome } from './enqueue-job.ts'
import type { PlainList } from './settle-parts.ts'
import { statement } from './statement.ts'

/** Rows to enqueue, a column each; a column that is shorter than the payloads is null from there on. */
export type OrderColumns = [
  /** The pairs of tenant and kind that occur. */
  tenantIds: PlainList,
  kinds: readonly string[],
  /** Which pair each row is of, from 1 on; empty: all are of the first. */
  pairs: PlainList,
  /** JSON, one a line. */
  payloads: string,
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

/** What became of all of them: one row, since a thousand cost 2 us each on both sides. */
export interface OrdersAnswer {
  /** Milliseconds since 1970 by the database's clock: when those that are new were created. */
  readonly createdMs: number
  /** The kinds' defaults of each pair; null where nothing is new. */
  readonly priorities: readonly number[] | null
  readonly maxAttempts: readonly number[] | null
  /** The id of the new job at place n, from 1 on, is the stem, and the tail and n in six hexadecimal digits. */
  readonly idStem: string
  readonly idTail: number
  /** As stored, a line for each new job; null: none is new. */
  readonly payloads: string | null
  /** Places of those that are told apart, since they are not new or were found to be so late; null: there are none. */
  readonly places: readonly number[] | null
  readonly ids: readonly string[] | null
  readonly outcomes: readonly EnqueueOutcome[] | null
}

export const enqueueOrders = statement<OrderColumns, OrdersAnswer>(
  'enqueue_orders',
  `-- (nothing) -> pending for each row, or the answer that its key existed; at most 1,000 rows
select floor(extract(epoch from now()) * 1000)::float8 as "createdMs", priorities, max_attempts as "maxAttempts", id_stem as "idStem", id_tail as "idTail",
       payloads, places, ids, outcomes
  from mdm.enqueue_orders($1::uuid[], $2::text[], $3::int[], $4, $5::int[], $6::timestamptz[], $7::float8[], $8::int[], $9::text[], $10::bool[], $11::jsonb[], $12, $13)`,
)
