import { statement } from './statement.ts'

/** Answers the waiting transactions, the processes that run them, and since when the reindex is under way. */
export const awaitWriters = statement<
  [jobId: string],
  { waitsFor: readonly string[]; pids: readonly number[]; sinceMs: number }
>(
  'await_writers',
  `-- keeps of the transactions that a reindex waits for those that are still open; when the last has gone, the pass begins anew behind it
with open as materialized (
  select l.virtualtransaction as id, l.pid from pg_locks l, mdm.ddm_reindex_run r
   where r.job_id = $1::uuid and l.virtualtransaction = any (r.waits_for))
update mdm.ddm_reindex_run r
   set waits_for = array(select distinct id from open), after_id = case when exists (select from open) then r.after_id end
 where r.job_id = $1
returning r.waits_for as "waitsFor", array(select distinct pid from open where pid is not null) as pids, (date_part('epoch', now() - r.started_at) * 1000)::float8 as "sinceMs"`,
)
