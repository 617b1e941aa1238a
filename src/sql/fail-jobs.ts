import { claimRevisionIfApart, dropEndedClaims, runTimes, settledColumns, type SettledRow } from './settle-parts.ts'
import { statement } from './statement.ts'

/** What one failed run says of itself, side by side in arrays. */
export type FailParams = [
  ids: readonly string[],
  leases: readonly string[],
  worker: number,
  endedClaims: readonly string[],
  delaysMs: readonly number[],
  permanent: readonly boolean[],
  errors: readonly string[],
  names: readonly string[],
  details: readonly (string | null)[],
  fingerprints: readonly string[],
  logs: readonly (string | null)[],
]

/** Ends failed runs as one group, each with its own outcome; answers one row a job that was still held. */
export const failJobs = statement<FailParams, SettledRow>(
  'fail_jobs',
  `-- running -> pending (transient), dlq (permanent, or attempts used up) or failed (a stop was asked for), if this claim still holds it
with held as materialized (
  select j.id, j.claimed_at, j.available_at, g.*,
         (case when j.stop_requested_at is not null then 'failed'
               when g.permanent or j.attempts >= j.max_attempts then 'dlq'
               else 'pending' end)::mdm.job_status as next,
         -- NaN sorts above everything in PostgreSQL and became ten years.
         least(greatest(coalesce(nullif(g.delay_ms, 'NaN'), 0), 0), 31622400000) * interval '1 millisecond' as delay
    from unnest($1::uuid[], $2::bigint[], $5::float8[], $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[], $11::jsonb[])
         g(job_id, lease, delay_ms, permanent, error, name, detail, fingerprint, log)
    join mdm.aa_job j on j.id = g.job_id and j.lease = g.lease
     for update of j),
moved as (
  update mdm.aa_job j
     set status = h.next,
         available_at = case when h.next = 'pending' then now() + h.delay else j.available_at end,
         deferred = h.next = 'pending' and h.delay > interval '0',
         completed_at = case when h.next <> 'pending' then now() end,
         dead_at = case when h.next <> 'pending' then now() end,
         claimed_by = case when h.next <> 'pending' then j.claimed_by end,
         claimed_at = case when h.next <> 'pending' then j.claimed_at end,
         heartbeat_at = null, progress = null, lease = null, revision = j.revision + 1,
         last_error = case when h.next = 'failed' then coalesce(j.stop_reason, h.error) else h.error end, error_fingerprint = h.fingerprint
    from held h
   where j.id = h.id and j.lease = h.lease
  returning j.id, j.tenant_id, j.job_kind, j.revision, j.claim_revision, j.runs, j.status, j.available_at as next_at, j.stop_cause, j.stop_reason,
            h.claimed_at, h.available_at, h.error, h.name, h.detail, h.fingerprint, h.log),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, wait_ms, run_ms, attempt, worker, job_kind, reason, payload)
  select id, tenant_id,
         (case status when 'pending' then 'job_retry' when 'dlq' then 'job_dlq'
           else case stop_cause when 'cancelled' then 'job_cancel' else 'job_stop' end end)::mdm.audit_action,
         revision, ${claimRevisionIfApart}, ${runTimes}, runs, $3::int, job_kind,
         case when status = 'failed' then stop_reason end,
         jsonb_strip_nulls(jsonb_build_object('from', case when status = 'failed' then 'running' end, 'last_error', error, 'name', name, 'detail', detail,
           'fingerprint', fingerprint, 'log', log, 'available_at', case when status = 'pending' then next_at end))
    from moved),
${dropEndedClaims('$1', '$4')}
${settledColumns}`,
)
