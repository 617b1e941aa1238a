import { heldColumns, recoverHeld, type RecoveredRow } from './recover-parts.ts'
import { statement } from './statement.ts'

/** Takes back claims that are older than their kind allows and gave no sign of life since; unknown kinds are left alone. */
export const recoverStaleJobs = statement<[limit: number], RecoveredRow>(
  'recover_stale_jobs',
  `-- running -> pending, dlq or failed: stale = greatest(claimed_at, heartbeat_at) + the kind's time limit < now; from the row and aa_job_kind alone
with held as materialized (
  select ${heldColumns}, 'stale' as cause
    from mdm.aa_claim c
   cross join lateral unnest(c.job_ids) u(job_id)
    join mdm.aa_job j on j.id = u.job_id and j.status = 'running' and j.lease = c.lease
    join mdm.aa_job_kind k on k.name = j.job_kind
   where greatest(j.claimed_at, j.heartbeat_at) + k.stale_after_ms * interval '1 millisecond' < clock_timestamp()
   limit $1::int
     for update of j skip locked),
${recoverHeld}`,
)
