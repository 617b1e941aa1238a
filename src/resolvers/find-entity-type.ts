import { mayActFor, tenantPredicate } from '../jobs/permissions.ts'
import type { EntityAttributeRow, EntityTypeRow } from '../sql/entity-type-row.ts'
import { listEntityTypes as read } from '../sql/list-entity-types.ts'
import { readEntityAttributes } from '../sql/read-entity-attributes.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'

/** The entity types of the caller's tenants, or of the one named, by key. */
export async function listEntityTypes(
  { tenantId }: { readonly tenantId?: string | null | undefined },
  context: RequestContext,
): Promise<EntityTypeRow[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { pools, tenantKeys } = context.deps
  if (tenantId == null) return read(pools.api, tenantPredicate(caller), null)
  const tenant = await tenantKeys.find(tenantId)
  return tenant !== null && mayActFor(caller, tenant.id) ? read(pools.api, [tenant.id], null) : []
}

/** One type by its uuid; null: none of the caller's. */
export async function findEntityType(id: string, context: RequestContext): Promise<EntityTypeRow | null> {
  authorize(context, [['READ_JOBS']])
  return context.loaders.entityTypes.load(id)
}

/** One attribute by its uuid; null: none of the caller's. */
export async function findEntityAttribute(id: string, context: RequestContext): Promise<EntityAttributeRow | null> {
  const caller = authorize(context, [['READ_JOBS']])
  return (await readEntityAttributes(context.deps.pools.api, null, [id], tenantPredicate(caller)))[0] ?? null
}

/** The uuid of a type that was named by node id, uuid or key; null: none among the caller's tenants, or the key stands for several. */
export async function entityTypeIdOf(named: string, context: RequestContext): Promise<string | null> {
  const id = parseUuidOf('entitytype', named)
  if (id !== null) return id
  if (named.includes('\0') || context.caller === null) return null
  const found = await read(context.deps.pools.api, tenantPredicate(context.caller), named)
  return found.length === 1 ? found[0]!.id : null
}
