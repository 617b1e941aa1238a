import { bulkJournaled } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

/** Ends an operation that cannot go on; its place stays, so that it can be taken up again. */
export const faultBulkOperation = statement<[id: string, error: string], { id: string }>(
  'fault_bulk_operation',
  `-- queued, running -> faulted, by the primary key
with ended as (
  update mdm.aa_bulk_operation o
     set status = 'faulted', finished_at = now(), error = $2::text
   where o.id = $1::uuid and o.status in ('queued', 'running')
  returning o.*),
${bulkJournaled('ended', 'bulk_end', 'o.created_by', 'o.request_id')}
select o.id from ended o`,
)
