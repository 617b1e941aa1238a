import { claimRevisionIfApart, dropEndedClaims, runTimes, settledColumns, type SettledRow } from './settle-parts.ts'
import { statement } from './statement.ts'

/** Gives claims back without counting an attempt; answers one row a job that was still held. */
export const releaseJobs = statement<
  [
    ids: readonly string[],
    leases: readonly string[],
    worker: number,
    endedClaims: readonly string[],
    delaysMs: readonly number[],
    /** Whether the handler never started: then it is no run either. */
    unstarted: readonly boolean[],
    causes: readonly string[],
  ],
  SettledRow
>(
  'release_jobs',
  `-- running -> pending, attempts given back (no token, shutdown, snooze), or failed if a stop was asked for; if this claim still holds it
with held as materialized (
  select j.id, j.claimed_at, j.available_at, g.*,
         (case when j.stop_requested_at is not null then 'failed' else 'pending' end)::mdm.job_status as next,
         least(greatest(coalesce(nullif(g.delay_ms, 'NaN'), 0), 0), 31622400000) * interval '1 millisecond' as delay
    from unnest($1::uuid[], $2::bigint[], $5::float8[], $6::boolean[], $7::text[]) g(job_id, lease, delay_ms, unstarted, cause)
    join mdm.aa_job j on j.id = g.job_id and j.lease = g.lease
     for update of j),
moved as (
  update mdm.aa_job j
     set status = h.next,
         attempts = j.attempts - 1,
         runs = j.runs - h.unstarted::int,
         available_at = case when h.delay > interval '0' then now() + h.delay else j.available_at end,
         deferred = h.next = 'pending' and h.delay > interval '0',
         completed_at = case when h.next = 'failed' then now() end,
         dead_at = case when h.next = 'failed' then now() end,
         claimed_by = case when h.next = 'failed' then j.claimed_by end,
         claimed_at = case when h.next = 'failed' then j.claimed_at end,
         last_error = case when h.next = 'failed' then coalesce(j.stop_reason, j.last_error) else j.last_error end,
         heartbeat_at = null, lease = null, revision = j.revision + 1
    from held h
   where j.id = h.id and j.lease = h.lease
  returning j.id, j.tenant_id, j.job_kind, j.revision, j.claim_revision, j.runs, j.status, j.available_at as next_at, j.stop_cause, j.stop_reason,
            h.claimed_at, h.available_at, h.cause, h.unstarted),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, wait_ms, run_ms, attempt, worker, job_kind, reason, payload)
  select id, tenant_id,
         (case status when 'pending' then 'job_released' else case stop_cause when 'cancelled' then 'job_cancel' else 'job_stop' end end)::mdm.audit_action,
         revision, ${claimRevisionIfApart}, ${runTimes}, runs + unstarted::int, $3::int, job_kind,
         case when status = 'failed' then stop_reason end,
         jsonb_strip_nulls(jsonb_build_object('cause', cause, 'from', case when status = 'failed' then 'running' end,
           'unstarted', case when unstarted then true end, 'available_at', case when status = 'pending' then next_at end))
    from moved),
${dropEndedClaims('$1', '$4')}
${settledColumns}`,
)
