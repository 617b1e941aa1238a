import { badText } from '../jobs/payload.ts'
import { mayActFor, tenantPredicate, type Caller } from '../jobs/permissions.ts'
import { ApiError } from './api-error.ts'
import type { RequestContext } from './context.ts'

export type StatsDimension = 'KIND' | 'TENANT'

/** The input `QueueStatsFilter`. */
export interface StatsFilterInput {
  readonly kind?: readonly string[] | null | undefined
  readonly tenantId?: readonly string[] | null | undefined
}

/** Which jobs statistics are of, and how they are broken down. */
export interface StatsScope {
  /** Null: every kind. */
  readonly kinds: readonly string[] | null
  /** The caller's as far as they are asked for; null: every tenant. */
  readonly tenantIds: readonly string[] | null
  readonly byKind: boolean
  readonly byTenant: boolean
}

const mostValues = 1_000

/** Reads a filter; of tenants that are not the caller's there are no numbers. Throws BAD_USER_INPUT where it cannot be read. */
export async function narrowStats(
  filter: StatsFilterInput | null | undefined,
  groupBy: readonly StatsDimension[],
  caller: Caller,
  context: RequestContext,
): Promise<StatsScope> {
  for (const [field, values] of Object.entries(filter ?? {}) as [string, readonly string[] | null | undefined][]) {
    if ((values?.length ?? 0) > mostValues) throw unreadable(`\`${field}\` may name at most 1,000 values.`)
    const problem = values?.map(badText).find((each) => each !== null)
    if (problem != null) throw unreadable(`\`${field}\` ${problem}`)
  }
  return {
    kinds: filter?.kind == null ? null : [...new Set(filter.kind)].toSorted(),
    tenantIds: (await tenantsOf(filter?.tenantId, caller, context))?.toSorted() ?? null,
    byKind: groupBy.includes('KIND'),
    byTenant: groupBy.includes('TENANT'),
  }
}

async function tenantsOf(
  named: readonly string[] | null | undefined,
  caller: Caller,
  { deps }: RequestContext,
): Promise<string[] | null> {
  if (named == null) return tenantPredicate(caller)
  const found = await Promise.all(named.map((each) => deps.tenantKeys.find(each)))
  const own = found.flatMap((tenant) => (tenant !== null && mayActFor(caller, tenant.id) ? [tenant.id] : []))
  return [...new Set(own)]
}

function unreadable(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The filter cannot be read. ${message}`, { reason: 'INVALID' })
}
