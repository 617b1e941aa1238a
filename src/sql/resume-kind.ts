import { statement } from './statement.ts'

export const resumeKind = statement<[kind: string, pausedBy: string], never>(
  'resume_kind',
  `-- lifts the pause that the same actor had set on a kind for all tenants
with lifted as (delete from mdm.aa_queue_pause where job_kind = $1 and tenant_id is null and paused_by = $2 returning job_kind)
insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id)
select t.id, 'queue_resume', lifted.job_kind, $2 from lifted, mdm.aa_tenant t where t.tenant_key = 'platform'`,
)
