import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import { listTaxonomyTerms as read } from '../sql/list-taxonomy-terms.ts'
import { readTaxonomyRule } from '../sql/read-taxonomy-rule.ts'
import { readTaxonomyTerms } from '../sql/read-taxonomy-terms.ts'
import type { TaxonomyRuleRow } from '../sql/taxonomy-rule-row.ts'
import type { TaxonomyTermRow } from '../sql/taxonomy-term-row.ts'
import { authorize, type RequestContext } from './context.ts'

/** Terms of the caller's tenants, or of the one named, with their rules; at most 10,000. */
export async function listTaxonomyTerms(
  { tenantId }: { readonly tenantId?: string | null | undefined },
  context: RequestContext,
): Promise<TaxonomyTermRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, tenantKeys } = context.deps
  if (tenantId == null) return read(pools.api, tenantPredicate(caller))
  const tenant = await tenantKeys.find(tenantId)
  return tenant !== null && mayActFor(caller, tenant.id) ? read(pools.api, [tenant.id]) : []
}

/** One term by its uuid; null: none of the caller's. */
export async function findTaxonomyTerm(id: string, context: RequestContext): Promise<TaxonomyTermRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readTaxonomyTerms(context.deps.pools.api, [id], tenantPredicate(caller)))[0] ?? null
}

/** One rule by its uuid; null: none of the caller's. */
export async function findTaxonomyRule(id: string, context: RequestContext): Promise<TaxonomyRuleRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readTaxonomyRule(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}
