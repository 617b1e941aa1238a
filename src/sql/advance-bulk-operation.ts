import { statement } from './statement.ts'

export const advanceBulkOperation = statement<[id: string, succeeded: number, skipped: number, pauseMs: number], never>(
  'advance_bulk_operation',
  `-- queued, running -> running: what a batch did, and when the next one is due; by the primary key
update mdm.aa_bulk_operation
   set status = 'running', succeeded = succeeded + $2::int, skipped = skipped + $3::int,
       next_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
 where id = $1::uuid and status in ('queued', 'running')`,
)
