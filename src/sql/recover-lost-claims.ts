import { heldColumns, recoverHeld, type RecoveredRow } from './recover-parts.ts'
import { statement } from './statement.ts'

/** The backstop, once an hour: running jobs that no claim row names. */
export const recoverLostClaims = statement<[limit: number], RecoveredRow>(
  'recover_lost_claims',
  `-- running -> pending, dlq or failed: a run past its kind's time limit whose claim row is missing; scans the table
with held as materialized (
  select ${heldColumns}, 'stale' as cause
    from mdm.aa_job j
    join mdm.aa_job_kind k on k.name = j.job_kind
   where j.status = 'running' and greatest(j.claimed_at, j.heartbeat_at) + k.stale_after_ms * interval '1 millisecond' < clock_timestamp()
     and not exists (select from mdm.aa_claim c where c.lease = j.lease and j.id = any (c.job_ids))
   limit $1::int
     for update of j skip locked),
${recoverHeld}`,
)
