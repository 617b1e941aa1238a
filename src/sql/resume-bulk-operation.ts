import { bulkOperationColumns, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

/** Lets an operation that met a fault go on where it stopped; no row: it is not at a fault any more. */
export const resumeBulkOperation = statement<[id: string], BulkOperationRow>(
  'resume_bulk_operation',
  `-- faulted -> queued, by the primary key
update mdm.aa_bulk_operation o
   set status = 'queued', finished_at = null, error = null, next_at = now()
 where o.id = $1::uuid and o.status = 'faulted'
returning ${bulkOperationColumns}`,
)
