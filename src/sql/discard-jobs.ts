import { heldMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Deletes jobs for good, but for those that have moved on; answers their ids. The journal keeps the whole of each. */
export const discardJobs = statement<BulkMoveParams, { id: string }>(
  'discard_jobs',
  `-- pending, dlq, failed -> deleted; by the primary key
with ${heldMany(['pending', 'dlq', 'failed'])},
gone as (
  delete from mdm.aa_job j using held h where j.id = h.id
  returning j.*),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, request_id, payload)
  select gone.id, gone.tenant_id, 'job_discard', gone.revision + 1, gone.job_kind, $4::text, $5::text, $6::text,
         jsonb_build_object('from', gone.status, 'snapshot', to_jsonb(gone))
    from gone)
select gone.id from gone`,
)
