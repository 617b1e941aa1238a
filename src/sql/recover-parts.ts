import { claimRevisionIfApart, runTimes } from './settle-parts.ts'

/**
 * running -> pending, dlq (attempts used up: a job that kills its process cannot do so for ever) or failed (a stop was asked for), for the
 * rows of `held` (id, lease, cause, claimed_at, available_at). attempts stay; they come back spread: random(0 .. 10 s x 2^(attempts-1), at most 10 min).
 */
export const recoverHeld = `moved as (
  update mdm.aa_job j
     set status = (case when j.stop_requested_at is not null then 'failed' when j.attempts >= j.max_attempts then 'dlq' else 'pending' end)::mdm.job_status,
         available_at = case when j.stop_requested_at is null and j.attempts < j.max_attempts then now() + h.delay else j.available_at end,
         deferred = j.stop_requested_at is null and j.attempts < j.max_attempts,
         completed_at = case when j.stop_requested_at is not null or j.attempts >= j.max_attempts then now() end,
         dead_at = case when j.stop_requested_at is not null or j.attempts >= j.max_attempts then now() end,
         claimed_by = null, claimed_at = null, heartbeat_at = null, progress = null, lease = null, revision = j.revision + 1,
         -- At most 4 KiB however often it happens: the front is given up, the newest stays.
         last_error = right(coalesce(j.last_error, ''), 900) || ' [stale-claim recovered]'
    from held h
   where j.id = h.id and j.lease = h.lease
  returning j.id, j.tenant_id, j.job_kind, j.revision, j.claim_revision, j.runs, j.attempts, j.status, j.available_at as next_at, j.last_error, j.stop_cause,
            j.stop_reason, h.claimed_by, h.claimed_at, h.available_at, h.cause),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, wait_ms, run_ms, attempt, worker, job_kind, actor_principal_id, reason, payload)
  select id, tenant_id,
         (case status when 'pending' then 'job_recovered' when 'dlq' then 'job_dlq'
           else case stop_cause when 'cancelled' then 'job_cancel' else 'job_stop' end end)::mdm.audit_action,
         revision, ${claimRevisionIfApart}, ${runTimes},
         runs, (select w.id from mdm.aa_worker w where w.name = claimed_by), job_kind, 'system:recovery',
         case when status = 'failed' then stop_reason end,
         jsonb_strip_nulls(jsonb_build_object('cause', cause, 'from', case when status = 'failed' then 'running' end, 'last_error', last_error,
           'available_at', case when status = 'pending' then next_at end))
    from moved)
select id, job_kind as kind, tenant_id as "tenantId", attempts, status, cause from moved`

/** The columns and the spread of a held row; `j` is the job. */
export const heldColumns = `j.id, j.lease, j.claimed_by, j.claimed_at, j.available_at,
         random() * least(600, 10 * 2 ^ least(j.attempts - 1, 10)) * interval '1 second' as delay`

export interface RecoveredRow {
  readonly id: string
  readonly kind: string
  readonly tenantId: string
  readonly attempts: number
  readonly status: 'pending' | 'dlq' | 'failed'
  readonly cause: 'dead_instance' | 'stale'
}
