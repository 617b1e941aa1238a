import { dropEndedClaims, journalDone, type PlainList } from './settle-parts.ts'
import { statement } from './statement.ts'

/** Ends successful runs that brought a result; answers the ids whose claim was lost. */
export const finishJobsWithResults = statement<
  [ids: PlainList, leases: PlainList, worker: number, endedClaims: readonly string[], results: readonly string[]],
  { id: string }
>(
  'finish_jobs_with_results',
  `-- running -> done with a result, if this claim still holds it; by the primary key
with moved as (
  update mdm.aa_job j
     set status = 'done', completed_at = now(), last_error = null, lease = null, revision = j.revision + 1, result = g.result::jsonb
    from unnest($1::uuid[], $2::bigint[], $5::text[]) g(id, lease, result)
   where j.id = g.id and j.lease = g.lease
  returning j.id, j.tenant_id, j.job_kind, j.revision, j.claim_revision, j.runs, j.claimed_at, j.available_at),
${journalDone},
${dropEndedClaims('$1', '$4')}
select g.id from unnest($1::uuid[]) g(id)
 where (select count(*) from moved) < cardinality($1::uuid[]) and not exists (select from moved m where m.id = g.id)`,
)
