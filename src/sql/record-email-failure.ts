import { statement } from './statement.ts'

type Params = [
  jobId: string,
  attempts: number,
  status: 'failed' | 'rejected' | 'unknown',
  /** How often the message was handed over by now without an answer that is known. */
  unanswered: number,
  code: number | null,
  enhanced: string | null,
  response: string | null,
  error: string,
  /** Whether the address gets no more email. */
  suppress: boolean,
]

export const recordEmailFailure = statement<Params, never>(
  'record_email_failure',
  `-- what came of an attempt that did not succeed, unless a later run has begun; a refused address goes on the suppression list
with failed as (
  update mdm.aa_email_log
     set status = $3, unanswered = $4, smtp_code = $5, enhanced_code = $6, response = $7, last_error = $8
   where job_id = $1 and attempts = $2 and status = 'sending'
  returning id, tenant_id, job_id, to_address),
suppressed as (
  insert into mdm.aa_email_suppression (tenant_id, address, reason, created_by, detail, source_email_log_id)
  select tenant_id, lower(to_address), 'bounce', 'system:email_send', $7, id from failed where $9
  on conflict (tenant_id, address, category) do nothing
  returning id, tenant_id, source_email_log_id)
insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, payload)
select tenant_id, 'suppression_add', 'system:email_send', jsonb_build_object('suppression_id', id, 'reason', 'bounce', 'email_log_id', source_email_log_id)
  from suppressed`,
)
