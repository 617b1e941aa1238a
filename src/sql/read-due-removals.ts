import { statement } from './statement.ts'

export const readDueRemovals = statement<[store: string, limit: number], { objectKey: string }>(
  'read_due_removals',
  `-- reads what is to be removed from this store by now, the longest due first, on aa_object_removal_due; what an attachment still refers to stays
select r.object_key as "objectKey"
  from mdm.aa_object_removal r
 where r.store = $1 and r.due_at <= now()
   and not exists (select from mdm.ddm_attachment a where a.object_key = r.object_key and a.store = r.store)
 order by r.due_at
 limit $2::int`,
)
