import type { ClaimRulesRow } from '../sql/read-claim-rules.ts'
import type { JobKind } from '../jobs/kind.ts'
import { createBuckets, type RateLimit } from '../jobs/rate-limit.ts'
import { pairKey } from '../jobs/pair-key.ts'
import { createLimitedPairs } from './limited-pairs.ts'

/** What a claim leaves out and how deep it may go; everything as of now. */
export interface ClaimShape {
  readonly kinds: readonly string[]
  readonly excludedPairs: Readonly<Record<string, 1>>
  readonly excludedTenants: Readonly<Record<string, 1>>
  /** Most jobs that one claim may bring of a (kind, tenant) pair whose bucket is in use. */
  readonly pairBounds: Readonly<Record<string, number>>
  /** Milliseconds until something that is left out now may be claimed again; null: nothing is. */
  readonly reopensInMs: number | null
  /** What stands under a cap over all instances, and so is claimed apart from the rest; null: nothing that is served here. */
  readonly caps: Caps | null
}

/** Parts of the queue that stand under a cap. */
export interface Caps {
  readonly kinds: Record<string, 1>
  readonly tenants: Record<string, 1>
  readonly pairs: Record<string, 1>
}

/** Pauses, closed tenants, weights and token buckets of this process. */
export interface ClaimRules {
  update(rules: ClaimRulesRow, livingInstances: number, dueKinds: readonly string[]): void
  shape(kinds: readonly string[], now: number): ClaimShape
  weightOf(tenantId: string): number
  /** Weights other than 1, as the claim takes them. */
  readonly weights: () => string
  /** Whether any job of the kind needs a token: asked for each job that starts. */
  limits(kind: string): boolean
  /** Takes the job's tokens, all or none; else says in how many milliseconds one will be there for it, counting those that wait already. */
  take(
    kind: string,
    tenantId: string,
    queuedBefore: number,
    now: number,
  ): { readonly taken: true } | { readonly taken: false; readonly retryAfterMs: number }
  /** Whether the end of such a job makes room under a cap. */
  underCap(kind: string, tenantId: string): boolean
  readonly hasCaps: () => boolean
  /** Kinds of which jobs were due at the last look. */
  dueKinds(): ReadonlySet<string>
  /** Whether no other instance lived when they were last counted. */
  isAlone(): boolean
}

interface ClaimRulesDeps {
  readonly kinds: ReadonlyMap<string, JobKind>
  readonly providers: Readonly<Record<string, RateLimit>>
}

const sweepEveryMs = 1_000

export function createClaimRules({ kinds, providers }: ClaimRulesDeps): ClaimRules {
  const buckets = createBuckets()
  let weights = new Map<string, number>()
  let weightsText = '{}'
  let ownLimits = new Map<string, RateLimit>()
  let limitedByTenant: ReadonlySet<string> = new Set()
  let pauses: { kind: string | null; tenantId: string | null; endsAt: number | null }[] = []
  let caps: Caps = { kinds: {}, tenants: {}, pairs: {} }
  let capped = false
  let share = 1
  let due: ReadonlySet<string> = new Set()
  let closedTenants: Record<string, 1> = {}
  let sweptAt = -Infinity

  /** Without a common store each instance takes its share of what is limited (FAULTS N03). */
  const shared = (limit: RateLimit): RateLimit => ({ rps: limit.rps / share, burst: Math.max(limit.burst / share, 1) })

  const limitsOf = (kind: string, tenantId: string): { key: string; limit: RateLimit; common: boolean }[] => {
    const definition = kinds.get(kind)
    const own = ownLimits.get(pairKey(kind, tenantId)) ?? definition?.defaults.rateLimit ?? null
    const provider = definition?.defaults.provider ?? null
    const cap = provider === null ? undefined : providers[provider]
    return [
      ...(own === null ? [] : [{ key: pairKey(kind, tenantId), limit: shared(own), common: false }]),
      ...(cap === undefined ? [] : [{ key: `provider ${provider}`, limit: shared(cap), common: true }]),
    ]
  }

  const pairs = createLimitedPairs(buckets, limitsOf)

  return {
    update(rules, livingInstances, dueKinds) {
      share = Math.max(livingInstances, 1)
      closedTenants = Object.fromEntries(rules.tenants.flatMap(({ id, closed }) => (closed ? [[id, 1]] : [])))
      weights = new Map(
        rules.tenants.flatMap((tenant) => (validWeight(tenant.weight) ? [[tenant.id, tenant.weight] as const] : [])),
      )
      weightsText = JSON.stringify(Object.fromEntries(weights))
      ownLimits = new Map(
        rules.tenants.flatMap((tenant) =>
          Object.entries(tenant.limits ?? {}).flatMap(([kind, limit]) =>
            validLimit(limit) ? [[pairKey(kind, tenant.id), limit] as const] : [],
          ),
        ),
      )
      limitedByTenant = new Set([...ownLimits.keys()].map((key) => key.slice(0, key.indexOf(' '))))
      const now = performance.now()
      pauses = rules.pauses.map((pause) => ({ ...pause, endsAt: pause.untilMs === null ? null : now + pause.untilMs }))
      caps = capsOf(rules)
      capped = Object.values(caps).some((part) => Object.keys(part).length > 0)
      due = new Set(dueKinds)
      pairs.reset()
    },

    shape(served, now) {
      const pausedPairs: Record<string, 1> = {}
      const pausedTenants: Record<string, 1> = {}
      const pausedKinds = new Set<string>()
      let reopensInMs = pairs.refresh(now)
      for (const { kind, tenantId, endsAt } of pauses) {
        if (endsAt !== null && endsAt <= now) continue
        if (endsAt !== null) reopensInMs = Math.min(reopensInMs, endsAt - now)
        if (kind !== null && tenantId !== null) pausedPairs[pairKey(kind, tenantId)] = 1
        else if (kind !== null) pausedKinds.add(kind)
        else if (tenantId !== null) pausedTenants[tenantId] = 1
      }
      for (const kind of served) {
        const provider = kinds.get(kind)?.defaults.provider ?? null
        const cap = provider === null ? undefined : providers[provider]
        const wait = cap === undefined ? 0 : buckets.waitMs(`provider ${provider}`, shared(cap), now)
        if (wait > 0) {
          pausedKinds.add(kind)
          reopensInMs = Math.min(reopensInMs, wait)
        }
      }
      // It looks at each bucket.
      if (now - sweptAt > sweepEveryMs) {
        buckets.sweep(now)
        sweptAt = now
      }
      return {
        kinds: served.filter((kind) => !pausedKinds.has(kind)),
        excludedPairs: together(pairs.excluded, pausedPairs),
        excludedTenants: together(closedTenants, pausedTenants),
        pairBounds: pairs.bounds,
        reopensInMs: reopensInMs === Infinity ? null : reopensInMs,
        caps: capped && concerns(caps, served) ? caps : null,
      }
    },

    limits(kind) {
      const { rateLimit, provider } = kinds.get(kind)?.defaults ?? { rateLimit: null, provider: null }
      return rateLimit !== null || (provider !== null && provider in providers) || limitedByTenant.has(kind)
    },

    take(kind, tenantId, queuedBefore, now) {
      const limits = limitsOf(kind, tenantId)
      if (limits.length === 0) return { taken: true }
      pairs.touch(kind, tenantId)
      const retryAfterMs = Math.max(
        ...limits.map((each) => buckets.waitMs(each.key, each.limit, now) + (queuedBefore * 1_000) / each.limit.rps),
      )
      if (limits.some((each) => buckets.waitMs(each.key, each.limit, now) > 0)) return { taken: false, retryAfterMs }
      for (const each of limits) buckets.take(each.key, each.limit, now)
      return { taken: true }
    },

    weightOf: (tenantId) => weights.get(tenantId) ?? 1,
    weights: () => weightsText,
    underCap: (kind, tenantId) =>
      Object.hasOwn(caps.kinds, kind) ||
      Object.hasOwn(caps.tenants, tenantId) ||
      Object.hasOwn(caps.pairs, pairKey(kind, tenantId)),
    hasCaps: () => capped,
    dueKinds: () => due,
    isAlone: () => share === 1,
  }
}

/** There may be thousands of the first, and none of the second as a rule. */
function together<Value>(many: Readonly<Record<string, Value>>, few: Readonly<Record<string, Value>>) {
  return Object.keys(few).length === 0 ? many : { ...many, ...few }
}

/** Those that were set, and the kinds' own. */
function capsOf({ caps, kinds }: ClaimRulesRow): Caps {
  const all = [
    ...caps,
    ...kinds.flatMap(({ name, maxConcurrency }) => (maxConcurrency === null ? [] : [{ kind: name, tenantId: null }])),
  ]
  const marked = (names: readonly (string | null)[]): Record<string, 1> =>
    Object.fromEntries(names.flatMap((name) => (name === null ? [] : [[name, 1]])))
  return {
    kinds: marked(all.map(({ kind, tenantId }) => (tenantId === null ? kind : null))),
    tenants: marked(all.map(({ kind, tenantId }) => (kind === null ? tenantId : null))),
    pairs: marked(
      all.map(({ kind, tenantId }) => (kind === null || tenantId === null ? null : pairKey(kind, tenantId))),
    ),
  }
}

function concerns({ kinds, tenants, pairs }: Caps, served: readonly string[]): boolean {
  return (
    served.some((kind) => Object.hasOwn(kinds, kind)) ||
    Object.keys(tenants).length > 0 ||
    Object.keys(pairs).length > 0
  )
}

function validWeight(weight: unknown): weight is number {
  return Number.isInteger(weight) && (weight as number) >= 1 && (weight as number) <= 100 && weight !== 1
}

function validLimit(limit: { rps: unknown; burst: unknown }): limit is RateLimit {
  return (
    typeof limit?.rps === 'number' &&
    limit.rps > 0 &&
    limit.rps <= 10_000 &&
    typeof limit.burst === 'number' &&
    limit.burst >= 1
  )
}

/** Whether a claim of this shape would not bring the run's job. */
export function leavesOut(
  { kinds, excludedTenants, excludedPairs }: ClaimShape,
  run: { readonly kind: string; readonly tenantId: string },
): boolean {
  return (
    !kinds.includes(run.kind) || run.tenantId in excludedTenants || pairKey(run.kind, run.tenantId) in excludedPairs
  )
}
