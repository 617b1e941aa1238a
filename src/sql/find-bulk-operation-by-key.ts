import { bulkOperationColumns, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

/** The operation that was asked for with a key, and whether it was asked for the same. */
export const findBulkOperationByKey = statement<
  [actor: string, createdFor: string, key: string, requestText: string],
  BulkOperationRow & { readonly isSame: boolean }
>(
  'find_bulk_operation_by_key',
  `-- reads one operation, by the unique index aa_bulk_operation_key
select ${bulkOperationColumns}, o.request = $4::jsonb as "isSame"
  from mdm.aa_bulk_operation o
 where o.created_by = $1::text and o.created_for = $2::text and o.idempotency_key = $3::text`,
)
