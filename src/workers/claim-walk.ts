import type { PastKeys } from '../sql/claim-fair-past-dead.ts'
import { noKey, type ClaimedRow } from '../sql/claim-parts.ts'

/**
 * Which claim statement walks least, learnt from how far the last one had to. Two things lie in its way: due jobs of kinds that are not
 * served, which the kind-first statement does not meet, and what was claimed while a session holds a snapshot from before: dead entries that
 * nobody may remove, 0.1 us each and each time. Those are stepped over by starting behind the last claimed key, for a second at most: so
 * long a job that comes in front of it, with a better priority say, may be passed over. Nothing of this is done while nothing is in the way.
 */
export interface ClaimWalk {
  /** Asked before each claim. `served` says what the claim may bring: keys hold only as long as it is the same. */
  begin(form: WalkForm, served: string): void
  readonly meetsForeign: () => boolean
  readonly meetsDead: () => boolean
  keysOf(form: 'tenant' | 'pair'): { readonly kinds: readonly string[]; readonly past: PastKeys }
  lastKey(): readonly [priority: number, availableAt: string, id: string]
  /** What a claim brought tells how far it walked; one that brought nothing tells nothing of that. */
  learn(form: WalkForm, rows: readonly ClaimedRow[]): void
  /** The last claim began behind others and brought nothing: in how many milliseconds the next one will begin at the front; null: it did already. */
  retryInMs(): number | null
}

/** By what a statement's scans are told apart: one scan a tenant, one a (kind, tenant), or one for all. */
export type WalkForm = 'tenant' | 'pair' | 'priority'

const keysLastMs = 1_000
/** Beyond, tenants are walked from their start: with so many of them none has many dead. */
const mostKeys = 1_000

interface Key {
  readonly kind: string
  readonly tenantId: string
  readonly past: readonly [priority: number, availableAt: string, id: string]
}

interface Keys {
  readonly of: Map<string, Key>
  served: string
  since: number
  /** No claim has begun with a key since they were dropped. */
  fresh: boolean
}

export function createClaimWalk(): ClaimWalk {
  const none = (): Keys => ({ of: new Map(), served: '', since: -Infinity, fresh: true })
  const keys: Record<WalkForm, Keys> = { tenant: none(), pair: none(), priority: none() }
  let dead = false
  let foreignSince = -Infinity
  let frontAgainAt: number | null = null

  const nameOf = {
    tenant: (row: ClaimedRow) => row[1],
    pair: (row: ClaimedRow) => `${row[2]} ${row[1]}`,
    priority: () => '',
  }

  return {
    begin(form, served) {
      const now = performance.now()
      const held = keys[form]
      if (held.served !== served || now - held.since >= keysLastMs) {
        held.of.clear()
        held.served = served
        held.since = now
      }
      held.fresh = held.of.size === 0
      frontAgainAt = null
    },
    meetsForeign: () => performance.now() - foreignSince < keysLastMs,
    meetsDead: () => dead,
    keysOf(form) {
      // As the index orders them: kinds byte by byte, ids as their hex digits.
      const sorted = [...keys[form].of].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
      return {
        kinds: sorted.map(({ kind }) => kind),
        past: [
          sorted.map(({ tenantId }) => tenantId),
          sorted.map(({ past }) => past[0]),
          sorted.map(({ past }) => past[1]),
          sorted.map(({ past }) => past[2]),
        ],
      }
    },
    lastKey: () => (dead ? (keys.priority.of.get('')?.past ?? noKey) : noKey),
    learn(form, rows) {
      const first = rows[0]
      const held = keys[form]
      frontAgainAt = first === undefined && !held.fresh ? held.since + keysLastMs : null
      if (first === undefined) return
      const met = first[13] ?? null
      if (met === 'dead') dead = true
      else if (met === 'foreign') foreignSince = performance.now()
      else if (held.fresh) dead = false
      if (!dead) return held.of.clear()
      for (const row of rows) {
        const name = nameOf[form](row)
        const availableAt = row[14]
        if (availableAt == null || (held.of.size >= mostKeys && !held.of.has(name))) continue
        held.of.set(name, { kind: row[2], tenantId: row[1], past: [row[6], availableAt, row[0]] })
      }
    },
    retryInMs: () => (frontAgainAt === null ? null : Math.max(Math.ceil(frontAgainAt - performance.now()), 1)),
  }
}
