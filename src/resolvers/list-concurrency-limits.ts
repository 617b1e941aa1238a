import { tenantPredicate } from '../jobs/permissions.ts'
import { readConcurrencyLimits, type ConcurrencyLimitRow } from '../sql/read-concurrency-limits.ts'
import { authorize, type RequestContext } from './context.ts'

/** The caps in force that concern the caller: those of every tenant, and those of the caller's. */
export async function listConcurrencyLimits(context: RequestContext): Promise<ConcurrencyLimitRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  return readConcurrencyLimits(context.deps.pools.api, tenantPredicate(caller))
}
