import { statement } from './statement.ts'

interface WaitingWorkflow {
  readonly id: string
  readonly name: string
  readonly trigger: string
  readonly conditions: unknown
  readonly actions: unknown
}

export const listWaitingWorkflows = statement<[documentId: string], WaitingWorkflow>(
  'list_waiting_workflows',
  `-- reads the workflows of a document's tenant that have not run for it, in their order
select w.id, w.name, w.trigger, w.conditions, w.actions
  from mdm.documents d join mdm.document_workflow w on w.tenant_id = d.tenant_id
 where d.id = $1::uuid and w.enabled
   and not exists (select from mdm.document_workflow_run r
                    where r.document_id = d.id and r.workflow_id = w.id and r.trigger_key = w.trigger and r.status = 'done')
 order by w.position, w.id`,
)
