import { statement } from './statement.ts'

/** Deletes operations that ended before the journal that tells of them begins, and what they had still before them. */
export const pruneBulkOperations = statement<[keepMonths: number, limit: number], { deleted: number }>(
  'prune_bulk_operations',
  `-- ended -> deleted, the oldest first, on the primary key
with old as (
  select o.id from mdm.aa_bulk_operation o
   where o.finished_at < now() - make_interval(months => $1::int)
   order by o.id
   limit $2::int),
gone as (
  delete from mdm.aa_bulk_operation o using old where o.id = old.id
  returning o.id)
select count(*)::int as deleted from gone`,
)
