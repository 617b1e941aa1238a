import type { RegisteredKind } from '../sql/read-kinds.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import type { RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'
import { listKinds } from './list-kinds.ts'

/** The limit in force for one tenant and kind. */
export interface TenantRateLimit {
  readonly tenant: TenantRow
  readonly kind: RegisteredKind
  /** Null: unlimited. */
  readonly limit: { readonly rps: number; readonly burst: number } | null
  /** Whether the tenant has its own. */
  readonly overridden: boolean
}

/** The limits of a tenant, kind by kind. */
export async function listRateLimits(tenant: TenantRow, context: RequestContext): Promise<TenantRateLimit[]> {
  return (await listKinds(context)).map((kind) => limitOf(tenant, kind))
}

export async function rateLimitOf(tenant: TenantRow, kind: string, context: RequestContext): Promise<TenantRateLimit> {
  return limitOf(tenant, await kindView(kind, context))
}

/** Requeues for want of a token in the last minute. */
export async function hitsPerMinute({ tenant, kind }: TenantRateLimit, { loaders }: RequestContext): Promise<number> {
  return (await loaders.rateLimitHits.load(`${kind.name} ${tenant.id}`))?.perMinute ?? 0
}

function limitOf(tenant: TenantRow, kind: RegisteredKind): TenantRateLimit {
  const own = tenant.metadata.rate_limit?.[kind.name]
  return { tenant, kind, limit: own ?? kind.rateLimit, overridden: own !== undefined }
}
