import {
  bulkJournaled,
  bulkOperationColumns,
  bulkOperationIsSeen,
  type BulkOperationRow,
} from './bulk-operation-row.ts'
import { statement } from './statement.ts'

/** Ends an operation early; what it has done stays done. No row: it has ended, or is none of the caller's. */
export const cancelBulkOperation = statement<
  [tenantIds: readonly string[] | null, actor: string, id: string, requestId: string],
  BulkOperationRow
>(
  'cancel_bulk_operation',
  `-- queued, running -> cancelled, by the primary key; waits for a batch that is under way
with ended as (
  update mdm.aa_bulk_operation o
     set status = 'cancelled', finished_at = now()
   where ${bulkOperationIsSeen} and o.id = $3::uuid and o.status in ('queued', 'running')
  returning o.*),
forgotten as (
  delete from mdm.aa_bulk_target t using ended e where t.operation_id = e.id),
${bulkJournaled('ended', 'bulk_end', '$2::text', '$4::text')}
select ${bulkOperationColumns} from ended o`,
)
