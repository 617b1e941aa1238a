import type { JobStatus } from '../jobs/lifecycle.ts'

/** Parameters that every move asked for by a person begins with. */
export type AdminMoveParams = [
  jobId: string,
  /** The caller's tenants; null: all. */
  tenantIds: readonly string[] | null,
  /** Null: whatever the revision is. */
  expectedRevision: number | null,
  actor: string,
  reason: string | null,
  requestId: string,
]

/** Who may be moved: the caller's job $1 at the revision asked for, in one of these statuses; locked, so that what `held` says is what the move starts from. */
export const held = (...from: readonly JobStatus[]): string => `held as materialized (
  select j.id, j.status, j.priority, j.payload
    from mdm.aa_job j
   where j.id = $1::uuid and j.status in (${from.map((status) => `'${status}'`).join(', ')})
     and ($2::uuid[] is null or j.tenant_id = any ($2)) and ($3::int is null or j.revision = $3)
     for update)`

/** The journal row of a job in `moved`; `payload` is SQL over its columns. */
export const journaled = (action: string, payload: string): string => `journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, request_id, payload)
  select j.id, j.tenant_id, '${action}', j.revision, j.job_kind, $4::text, $5::text, $6::text, ${payload}
    from moved j join held h on h.id = j.id)`

/** A pending or dead job becomes failed: it will not be tried again. */
export const toFailed = (cause: 'cancelled' | 'stopped'): string => `moved as (
  update mdm.aa_job j
     set status = 'failed', deferred = false, completed_at = now(), dead_at = now(), last_error = coalesce($5::text, j.last_error), revision = j.revision + 1,
         stop_requested_at = now(), stop_cause = '${cause}', stop_requested_by = $4::text, stop_reason = $5::text
    from held h
   where j.id = h.id
  returning j.*)`

/** A dead job becomes pending with attempts at zero, due when the CTE `due` says; `payload` is SQL. */
export const toPending = (payload: string): string => `moved as (
  update mdm.aa_job j
     set status = 'pending', attempts = 0, available_at = due.at, deferred = due.at > now(), payload = ${payload}, revision = j.revision + 1,
         completed_at = null, dead_at = null, claimed_by = null, claimed_at = null, heartbeat_at = null, progress = null, result = null,
         stop_requested_at = null, stop_cause = null, stop_requested_by = null, stop_reason = null
    from held h, due
   where j.id = h.id
  returning j.*)`

/** The caller's running job $1 at the revision asked for, unless such a request stands. */
export const heldRunning = (standing: string): string => `held as materialized (
  select j.id, j.claimed_at, j.available_at
    from mdm.aa_job j
   where j.id = $1::uuid and j.status = 'running' and (${standing})
     and ($2::uuid[] is null or j.tenant_id = any ($2)) and ($3::int is null or j.revision = $3)
     for update)`

/** A cancel that stands is not made again, and neither is a stop; only a stop outranks a cancel. */
export const mayStillBe = {
  cancelled: 'j.stop_cause is null',
  stopped: `j.stop_cause is distinct from 'stopped'`,
} as const

/**
 * A running job stays running, its lease too: its worker hears of the request and ends the run. The row carries the claim's facts, as
 * the row of each move out of running does.
 */
export const requested = (cause: 'cancelled' | 'stopped', action: string): string => `moved as (
  update mdm.aa_job j
     set revision = j.revision + 1, stop_requested_at = now(), stop_cause = '${cause}', stop_requested_by = $4::text, stop_reason = $5::text
    from held h
   where j.id = h.id
  returning j.*),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, wait_ms, run_ms, attempt, worker, job_kind, actor_principal_id, reason, request_id)
  select j.id, j.tenant_id, '${action}', j.revision, case when j.claim_revision <> j.revision - 1 then j.claim_revision end,
         least(greatest(date_part('epoch', h.claimed_at - h.available_at) * 1000, 0), 2147483647)::int,
         least(greatest(date_part('epoch', now() - h.claimed_at) * 1000, 0), 2147483647)::int,
         j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind, $4::text, $5::text, $6::text
    from moved j join held h on h.id = j.id)`
