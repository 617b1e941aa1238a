import { statement } from './statement.ts'

export const recordDocumentProcessed = statement<[jobId: string, payloadJson: string], never>(
  'record_document_processed',
  `-- the audit line of a document that was read, or that is not what was archived
insert into mdm.aa_audit_log (job_id, tenant_id, action, attempt, worker, job_kind, payload)
select j.id, j.tenant_id, 'document_processed', j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind, $2::jsonb
  from mdm.aa_job j
 where j.id = $1::uuid`,
)
