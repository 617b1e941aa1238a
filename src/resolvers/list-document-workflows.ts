import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import type { DocumentWorkflowRow } from '../sql/document-workflow-row.ts'
import { listDocumentWorkflows as read } from '../sql/list-document-workflows.ts'
import { readDocumentWorkflow } from '../sql/read-document-workflow.ts'
import { authorize, type RequestContext } from './context.ts'

/** Workflows of the caller's tenants, or of the one named, in the order in which they run; at most 1,000. */
export async function listDocumentWorkflows(
  { tenantId }: { readonly tenantId?: string | null | undefined },
  context: RequestContext,
): Promise<DocumentWorkflowRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, tenantKeys } = context.deps
  if (tenantId == null) return read(pools.api, tenantPredicate(caller))
  const tenant = await tenantKeys.find(tenantId)
  return tenant !== null && mayActFor(caller, tenant.id) ? read(pools.api, [tenant.id]) : []
}

/** One workflow by its uuid; null: none of the caller's. */
export async function findDocumentWorkflow(id: string, context: RequestContext): Promise<DocumentWorkflowRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readDocumentWorkflow(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}
