import { statement } from './statement.ts'

type Params = [documentId: string, workflowId: string, trigger: string, status: 'done' | 'failed', resultJson: string]

export const endWorkflowRun = statement<Params, never>(
  'end_workflow_run',
  `-- what a workflow did for a document, or why it could not
insert into mdm.document_workflow_run (document_id, workflow_id, trigger_key, status, result)
values ($1::uuid, $2::uuid, $3, $4, $5::jsonb)
on conflict (document_id, workflow_id, trigger_key) do update set status = excluded.status, result = excluded.result`,
)
