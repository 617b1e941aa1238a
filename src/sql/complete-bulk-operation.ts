import { bulkJournaled } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

export const completeBulkOperation = statement<[id: string], { id: string }>(
  'complete_bulk_operation',
  `-- queued, running -> completed, by the primary key
with ended as (
  update mdm.aa_bulk_operation o
     set status = 'completed', finished_at = now()
   where o.id = $1::uuid and o.status in ('queued', 'running')
  returning o.*),
forgotten as (
  delete from mdm.aa_bulk_target t using ended e where t.operation_id = e.id),
${bulkJournaled('ended', 'bulk_end', 'o.created_by', 'o.request_id')}
select o.id from ended o`,
)
