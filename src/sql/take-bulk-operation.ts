import { bulkOperationColumns, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

/** The operation whose next batch is due, held until the transaction ends: nobody else works on it, and whoever dies lets it go. */
export const takeBulkOperation = statement<[], BulkOperationRow>(
  'take_bulk_operation',
  `-- reads and locks the operation that waits longest, on aa_bulk_operation_due
select ${bulkOperationColumns}
  from mdm.aa_bulk_operation o
 where o.status in ('queued', 'running') and o.next_at <= clock_timestamp()
 order by o.next_at
 limit 1
   for update skip locked`,
)
