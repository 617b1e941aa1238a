import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  jobId: string | null,
  actor: string,
  reason: string | null,
  requestId: string,
  payloadJson: string,
]

export const recordDocumentChange = statement<Params, never>(
  'record_document_change',
  `-- the audit line of what a person did with a document
insert into mdm.aa_audit_log (tenant_id, job_id, action, actor_principal_id, reason, request_id, payload)
values ($1::uuid, $2::uuid, 'metadata_change', $3, $4, $5, $6::jsonb)`,
)
