import { statement } from './statement.ts'

export const journalWork = statement<[jobId: string, action: 'index_change' | 'reindex_done', payload: string], never>(
  'journal_work',
  `-- writes into the audit log what a job of a kind did; in the transaction that does it
insert into mdm.aa_audit_log (job_id, tenant_id, action, attempt, worker, job_kind, payload)
select j.id, j.tenant_id, $2::text::mdm.audit_action, j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind, $3::jsonb
  from mdm.aa_job j where j.id = $1::uuid`,
)
