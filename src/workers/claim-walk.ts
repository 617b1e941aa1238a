import type { PastKeys } from '../sql/claim-fair.ts'
import { keyOf, noKey, type PastKey } from '../sql/claim-parts.ts'
import type { ClaimedRow } from '../sql/claimed-row.ts'
import { plainList } from '../sql/settle-parts.ts'
import type { ClaimRules } from './claim-rules.ts'

/**
 * Where a claim begins, learnt from how far the last one had to walk. Two things lie in its way. What was claimed: its entries stay in the index,
 * dead, until a vacuum has come (400,000 jobs in one go took twice the server's time a job that 50,000 take), or for as long as a session holds a snapshot
 * from before. And jobs of kinds that are not served. Both are stepped over by starting behind the last claimed keys. What comes in front
 * of them meanwhile, a job with a better priority say, is not seen: so a claim starts at the front again as often as that costs a tenth of the
 * time, after a second at the latest. With foreign jobs in front that one goes kind by kind, and so does every claim for a while after foreign jobs
 * were met behind the keys too. Nothing of this is done while nothing is in the way.
 */
export interface ClaimWalk {
  /** Whether the next claim is better made kind by kind. `served` says what it may bring: keys hold only as long as it is the same. */
  goesByKind(form: 'tenant' | 'priority', served: string, foreignDue: boolean): boolean
  /** Asked before each claim. */
  begin(form: WalkForm, served: string): void
  /** Where the scans of the fair claims start. */
  keysOf(form: 'tenant' | 'pair'): readonly [...past: PastKeys, kinds: string]
  /** Whether tenants with a key may be taken to have more: the last claim was filled, and a claim of `limit` comes to all of them. */
  keysHaveMore(limit: number): boolean
  /** Where the scan of the claims by priority starts. */
  lastKey(): PastKey
  /** Whether the claim began behind keys: what lies in front of them it did not see. */
  startsBehind(): boolean
  /**
   * What a claim brought tells how far it walked; one that brought nothing tells nothing of that. `stepsOver`: jobs of other kinds are due, and
   * behind what was brought there is more: it is the form whose next claims start behind this one, and what it serves.
   */
  learn(
    rows: readonly ClaimedRow[],
    limit: number,
    stepsOver: { readonly form: WalkForm; readonly served: string } | null,
  ): void
  /** The last claim began behind others and brought nothing: in how many milliseconds the next one will begin at the front; null: it did already. */
  retryInMs(): number | null
}

/** By what a statement's scans are told apart: one scan a tenant, one a (kind, tenant), or one for all. */
export type WalkForm = 'tenant' | 'pair' | 'priority'

const longestMs = 1_000
const shortestMs = 100
/** Of the time a look at the front may take: one part in so many. */
const frontShare = 10
const foreignLastsMs = 1_000
/** Beyond, tenants are walked from their start: with so many of them none has many dead. */
const mostKeys = 1_000

interface Key {
  readonly kind: string
  readonly tenantId: string
  readonly past: ReturnType<typeof keyOf>
}

interface Keys {
  readonly of: Map<string, Key>
  served: string
  since: number
  lastMs: number
}

export function createClaimWalk({ isAlone }: Pick<ClaimRules, 'isAlone'>): ClaimWalk {
  const none = (): Keys => ({ of: new Map(), served: '', since: -Infinity, lastMs: longestMs })
  const keys: Record<WalkForm, Keys> = { tenant: none(), pair: none(), priority: none() }
  let form: WalkForm = 'tenant'
  let beganAt = 0
  let atFront = true
  let dead = false
  let filled = false
  let foreignSince = -Infinity
  let frontAgainAt: number | null = null

  const nameOf = {
    tenant: (row: ClaimedRow) => row[1],
    pair: (row: ClaimedRow) => `${row[2]} ${row[1]}`,
    priority: () => '',
  }

  const holds = (held: Keys, served: string, now: number): boolean =>
    held.of.size > 0 && held.served === served && now - held.since < held.lastMs

  const meetsForeign = (): boolean => performance.now() - foreignSince < foreignLastsMs

  /** The next claims of the form start behind these rows; the first of them was a look at the front, and its time says how long they do. */
  const remember = (to: WalkForm, served: string, rows: readonly ClaimedRow[]): void => {
    const now = performance.now()
    const held = keys[to]
    if (to === form ? atFront : !holds(held, served, now)) {
      held.of.clear()
      held.served = served
      held.since = now
      held.lastMs = Math.min(Math.max(frontShare * (now - beganAt), shortestMs), longestMs)
    }
    // The last job of each comes last.
    const met = new Set<string>()
    for (const row of rows.toReversed()) {
      const name = nameOf[to](row)
      if (met.has(name) || (held.of.size >= mostKeys && !held.of.has(name))) continue
      met.add(name)
      held.of.set(name, { kind: row[2], tenantId: row[1], past: keyOf(row) })
    }
  }

  return {
    goesByKind: (of, served, foreignDue) =>
      meetsForeign() || (foreignDue && !holds(keys[of], served, performance.now())),
    begin(of, served) {
      form = of
      beganAt = performance.now()
      const held = keys[form]
      if (!holds(held, served, beganAt)) held.of.clear()
      held.served = served
      atFront = held.of.size === 0
      frontAgainAt = null
    },
    keysOf(of) {
      // As the index orders them: kinds byte by byte, ids as their hex digits.
      const sorted = [...keys[of].of].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
      const part = (nth: 0 | 1 | 2): string => plainList(sorted.map(({ past }) => past[nth]))
      return [
        plainList(sorted.map(({ tenantId }) => tenantId)),
        part(0),
        part(1),
        part(2),
        plainList(sorted.map(({ kind }) => kind)),
      ]
    },
    keysHaveMore: (limit) => filled && keys.tenant.of.size < limit,
    lastKey: () => keys.priority.of.get('')?.past ?? noKey,
    startsBehind: () => !atFront,
    learn(rows, limit, stepsOver) {
      const held = keys[form]
      filled = rows.length >= limit
      const first = rows[0]
      frontAgainAt = null
      if (first === undefined) {
        if (!atFront) frontAgainAt = dead ? held.since + held.lastMs : performance.now()
        if (!dead) held.of.clear()
        return
      }
      const met = first[13] ?? null
      // Pages that were walked past for nothing are of dead entries, as a rule; where a tenant's are met behind the last claimed job too, they are not,
      // unless other instances claim there.
      const isNotDead = form === 'tenant' && !atFront && held.of.size < mostKeys && isAlone()
      if (met === 'foreign' || (met === 'pages' && isNotDead)) foreignSince = performance.now()
      else if (met !== null) dead = true
      else if (atFront) dead = false
      if (dead || stepsOver?.form === form) remember(form, held.served, rows)
      else held.of.clear()
      if (stepsOver !== null && stepsOver.form !== form) remember(stepsOver.form, stepsOver.served, rows)
    },
    retryInMs: () => (frontAgainAt === null ? null : Math.max(Math.ceil(frontAgainAt - performance.now()), 1)),
  }
}
