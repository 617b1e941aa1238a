import { documentWorkflowRowColumns, type DocumentWorkflowRow } from './document-workflow-row.ts'
import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  name: string,
  conditionsJson: string,
  actionsJson: string,
  enabled: boolean,
  actor: string,
  requestId: string,
]

export const setDocumentWorkflow = statement<Params, DocumentWorkflowRow>(
  'set_document_workflow',
  `-- makes a workflow behind the tenant's others, or changes it where it stands; by the unique index on tenant and name
with stored as (
  insert into mdm.document_workflow as w (tenant_id, name, conditions, actions, enabled, position)
  select $1::uuid, $2, $3::jsonb, $4::jsonb, $5,
         coalesce((select max(position) from mdm.document_workflow where tenant_id = $1::uuid), 0) + 1
  on conflict (tenant_id, name) do update set conditions = excluded.conditions, actions = excluded.actions, enabled = excluded.enabled
  returning w.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select tenant_id, 'metadata_change', $6, $7, jsonb_build_object('document_workflow_id', id, 'name', name, 'enabled', enabled) from stored)
select ${documentWorkflowRowColumns} from stored w`,
)
