import { statement } from './statement.ts'

export const awaitWriters = statement<[jobId: string], { waitsFor: readonly string[]; pids: readonly number[] }>(
  'await_writers',
  `-- keeps of the transactions that a reindex waits for those that still write entities; when the last has gone, the pass begins anew behind it
with open as materialized (
  select l.virtualtransaction as id, l.pid from pg_locks l, mdm.ddm_reindex_run r
   where r.job_id = $1::uuid and l.virtualtransaction = any (r.waits_for)
     and l.locktype = 'relation' and l.relation = 'mdm.ddm_entity'::regclass and l.mode = 'RowExclusiveLock')
update mdm.ddm_reindex_run r
   set waits_for = array(select distinct id from open), after_id = case when exists (select from open) then r.after_id end
 where r.job_id = $1
returning r.waits_for as "waitsFor", array(select distinct pid from open) as pids`,
)
