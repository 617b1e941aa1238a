import { statement } from './statement.ts'

/** In how many milliseconds a batch is due, below 0 if it is; null: there is nothing to do. */
export const readNextBulkBatch = statement<[], { dueInMs: number | null }>(
  'read_next_bulk_batch',
  `-- reads when the next batch of any operation is due, on aa_bulk_operation_due
select (extract(epoch from min(next_at) - clock_timestamp()) * 1000)::float8 as "dueInMs"
  from mdm.aa_bulk_operation
 where status in ('queued', 'running')`,
)
