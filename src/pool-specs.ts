import type { Config } from './config.ts'
import { StartError } from './jobs/errors.ts'
import type { TenantKeys } from './resolvers/tenant-keys.ts'
import type { PoolSpec } from './workers/dispatcher.ts'

/** The pools that are configured, with their tenants' ids; throws StartError for a tenant that does not exist. */
export async function poolSpecs(config: Pick<Config, 'pools'>, tenantKeys: TenantKeys): Promise<PoolSpec[]> {
  return Promise.all(
    config.pools.map(async (pool) => {
      const tenantIds =
        pool.tenants === null
          ? null
          : await Promise.all(
              pool.tenants.map(async (key) => {
                const tenant = await tenantKeys.find(key)
                if (tenant === null)
                  throw new StartError(
                    `STELLWERK_POOLS: the pool ${pool.name} names the tenant ${key}, which does not exist. Create it first, or correct the name.`,
                  )
                return tenant.id
              }),
            )
      return { name: pool.name, slots: pool.slots, kinds: pool.kinds, tenantIds, dispatch: pool.dispatch }
    }),
  )
}
