import { bulkOperationColumns, bulkOperationIsSeen, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

export const readBulkOperation = statement<
  [tenantIds: readonly string[] | null, actor: string, id: string],
  BulkOperationRow
>(
  'read_bulk_operation',
  `-- reads one operation, by the primary key
select ${bulkOperationColumns}
  from mdm.aa_bulk_operation o
 where ${bulkOperationIsSeen} and o.id = $3::uuid`,
)
