import { bulkOperationColumns, bulkOperationIsSeen, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

export const listBulkOperations = statement<
  [tenantIds: readonly string[] | null, actor: string, beforeId: string | null, limit: number],
  BulkOperationRow
>(
  'list_bulk_operations',
  `-- reads operations, newest first, on the primary key
select ${bulkOperationColumns}
  from mdm.aa_bulk_operation o
 where ${bulkOperationIsSeen} and ($3::uuid is null or o.id < $3)
 order by o.id desc
 limit $4::int`,
)
