import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import type { EmailTemplateRow } from '../sql/email-template-row.ts'
import { listEmailTemplates as read } from '../sql/list-email-templates.ts'
import { readEmailTemplate } from '../sql/read-email-template.ts'
import { authorize, type RequestContext } from './context.ts'

/** The newest version of each template that the caller's tenants, or the one named, may use: their own and the common ones. */
export async function listEmailTemplates(
  { tenantId }: { readonly tenantId?: string | null | undefined },
  context: RequestContext,
): Promise<EmailTemplateRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, tenantKeys } = context.deps
  if (tenantId == null) return read(pools.api, tenantPredicate(caller))
  const tenant = await tenantKeys.find(tenantId)
  return tenant !== null && mayActFor(caller, tenant.id) ? read(pools.api, [tenant.id]) : []
}

/** One version by its uuid; null: none that the caller may use. */
export async function findEmailTemplate(id: string, context: RequestContext): Promise<EmailTemplateRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readEmailTemplate(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}
