import { readTenants, type TenantRow } from '../sql/read-tenants.ts'
import type { Queryable } from '../sql/statement.ts'

/** A tenant's two names. Neither ever changes, so that they are remembered for the life of the process. */
export interface TenantName {
  readonly id: string
  readonly key: string
}

export interface TenantKeys {
  /** Finds a tenant by key, id or node id, whoever asks; null: there is none. */
  find(idOrKey: string): Promise<TenantName | null>
  /** The same without a promise, for a hundred jobs that ask a hundred times; undefined: it has not been asked for yet. */
  known(idOrKey: string): TenantName | undefined
}

const nodePrefix = 'tenant_'
const mayBeName = /^[A-Za-z0-9_-]{1,80}$/

/** Remembers which key belongs to which id, so that enqueueing needs no look-up. Whether a tenant is open is not remembered. */
export function createTenantKeys(db: Queryable): TenantKeys {
  const known = new Map<string, TenantName>()
  const remember = ({ id, key }: TenantRow): TenantName => {
    const name = { id, key }
    known.set(id, name)
    known.set(key, name)
    return name
  }
  return {
    async find(idOrKey) {
      const remembered = known.get(idOrKey)
      if (remembered !== undefined) return remembered
      if (!mayBeName.test(idOrKey)) return null
      const [found] = await readTenants(db, [idOrKey], null)
      if (found !== undefined) return remember(found)
      return idOrKey.startsWith(nodePrefix) ? this.find(idOrKey.slice(nodePrefix.length)) : null
    },
    known: (idOrKey) => known.get(idOrKey),
  }
}
