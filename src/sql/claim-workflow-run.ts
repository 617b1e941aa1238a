import { statement } from './statement.ts'

type Params = [documentId: string, workflowId: string, trigger: string]

export const claimWorkflowRun = statement<Params, { workflowId: string }>(
  'claim_workflow_run',
  `-- (nothing), failed -> done: no row means that it ran for this document before, and is not to run again
insert into mdm.document_workflow_run as r (document_id, workflow_id, trigger_key, status)
values ($1::uuid, $2::uuid, $3, 'done')
on conflict (document_id, workflow_id, trigger_key) do update set status = 'done', created_at = now() where r.status = 'failed'
returning r.workflow_id as "workflowId"`,
)
