import type { AdminMoveParams } from './admin-move-parts.ts'
import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

/** Deletes a job for good; answers the journal row that keeps the whole of it, or no row. */
export const discardJob = statement<AdminMoveParams, AuditRow>(
  'discard_job',
  `-- pending, dlq, failed -> deleted; by the primary key. The journal keeps the payload exactly as it was stored
with gone as (
  delete from mdm.aa_job j
   where j.id = $1::uuid and j.status in ('pending', 'dlq', 'failed')
     and ($2::uuid[] is null or j.tenant_id = any ($2)) and ($3::int is null or j.revision = $3)
  returning j.*),
journaled as (
  insert into mdm.aa_audit_log as a (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, request_id, payload)
  select gone.id, gone.tenant_id, 'job_discard', gone.revision + 1, gone.job_kind, $4::text, $5::text, $6::text,
         jsonb_build_object('from', gone.status, 'snapshot', to_jsonb(gone))
    from gone
  returning a.*)
select ${auditRowColumns} from journaled a`,
)
