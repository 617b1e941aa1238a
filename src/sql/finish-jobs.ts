import { dropEndedClaims, journalDone, type PlainList } from './settle-parts.ts'
import { statement } from './statement.ts'

/**
 * Ends successful runs as one group; answers the ids whose claim was lost. `leases`: one for each, or one for all of them where they are of one claim
 * (11.0 us a job in place of 12.0: nothing is to be looked up for each).
 */
export const finishJobs = statement<
  [ids: PlainList, leases: PlainList, worker: number, endedClaims: readonly string[]],
  { id: string }
>(
  'finish_jobs',
  `-- running -> done, if this claim still holds it; by the primary key, and HOT: no index hangs on what changes
with moved as (
  update mdm.aa_job j
     set status = 'done', completed_at = now(), last_error = null, lease = null, revision = j.revision + 1
   where j.id = any ($1::uuid[])
     and case when cardinality($2::bigint[]) = 1 then j.lease = ($2::bigint[])[1] else (j.id, j.lease) in (select * from unnest($1::uuid[], $2::bigint[])) end
  returning j.id, j.tenant_id, j.job_kind, j.revision, j.claim_revision, j.runs, j.claimed_at, j.available_at),
${journalDone},
${dropEndedClaims('$1', '$4')}
select g.id from unnest($1::uuid[]) g(id)
 where (select count(*) from moved) < cardinality($1::uuid[]) and not exists (select from moved m where m.id = g.id)`,
)
