import type { Pool } from 'pg'
import { kindsWithOwnSlot } from '../jobs/kinds.ts'
import { broughtAll, firstRotation, rotate, roundsFor, type Rotation } from '../jobs/fairness.ts'
import { claimFairByKindPastDead } from '../sql/claim-fair-by-kind-past-dead.ts'
import { claimFairByKind } from '../sql/claim-fair-by-kind.ts'
import { claimFairOfTenants } from '../sql/claim-fair-of-tenants.ts'
import { claimFairPastDead } from '../sql/claim-fair-past-dead.ts'
import { claimFair } from '../sql/claim-fair.ts'
import { foundLocked, type ClaimedRow, type ClaimParams } from '../sql/claim-parts.ts'
import { claimPriorityByKind } from '../sql/claim-priority-by-kind.ts'
import { claimPriority } from '../sql/claim-priority.ts'
import { createCappedDispatcher } from './capped-dispatcher.ts'
import type { Caps, ClaimRules, ClaimShape } from './claim-rules.ts'
import { createClaimWalk, type WalkForm } from './claim-walk.ts'
import { drawLease } from './draw-lease.ts'
import { runsOf, type Run } from './run.ts'
import { createUnheardClaims } from './unheard-claims.ts'

/** What a pool of slots serves, and in which order. */
export interface PoolSpec {
  readonly name: string
  readonly slots: number
  /** Null: every kind that this process has a handler for. */
  readonly kinds: readonly string[] | null
  /** Ids; null: every tenant. */
  readonly tenantIds: readonly string[] | null
  readonly dispatch: 'fair' | 'priority'
}

export interface Dispatcher {
  /** Claims up to `limit` jobs in the pool's order; tenants in `passedOver` are left out. */
  claim(limit: number, shape: ClaimShape, passedOver: readonly string[]): Promise<Run[]>
  /** Whether the last claim brought all that is due and that nobody else is claiming. False where that is not known. */
  tookAll(): boolean
  /** There may be due jobs, or room under a cap. */
  wake(): void
  /** When to look again, in milliseconds, since others were just claiming what is due or it may have been stepped over; null: nothing of the sort. */
  retryInMs(): number | null
}

interface DispatcherDeps {
  readonly spec: PoolSpec
  readonly pool: Pool
  readonly worker: string
  readonly instanceId: () => string
  readonly rules: ClaimRules
}

/** Somebody may hold a lock on a due job for long. */
const longestContentionMs = 500

/** Decides which claim statement runs, and where the rotation over the tenants stands. */
export function createDispatcher({ spec, pool, worker, instanceId, rules }: DispatcherDeps): Dispatcher {
  let rotation: Rotation = firstRotation
  const unheard = createUnheardClaims(pool)
  const capped = createCappedDispatcher({ spec, pool, worker, instanceId, rules, unheard })
  const walk = createClaimWalk()
  let cappedFirst = false
  let tookAll = false
  /** How many claims in a row have found due jobs that others were just claiming. */
  let contended = 0

  /**
   * Kind-first where pairs are left out, or while jobs of kinds that are not served here are due: foreign jobs in front cost it nothing.
   * Tenant-first else: a quarter of the price with nine kinds and 100 tenants. A wrong guess costs time, never order.
   */
  const isByKind = (shape: ClaimShape): boolean =>
    Object.keys(shape.excludedPairs).length > 0 ||
    Object.keys(shape.pairBounds).length > 0 ||
    walk.meetsForeign() ||
    [...rules.dueKinds()].some((kind) => !shape.kinds.includes(kind) && !kindsWithOwnSlot.includes(kind))

  const claimRows = async (
    params: ClaimParams,
    limit: number,
    shape: ClaimShape,
    byKind: boolean,
  ): Promise<readonly ClaimedRow[]> => {
    const [, , , kinds, , excludedPairs, excludedTenants] = params
    const bounds = JSON.stringify(shape.pairBounds)
    if (spec.dispatch === 'priority') {
      walk.begin('priority', JSON.stringify([kinds, excludedPairs, excludedTenants]))
      const key = walk.lastKey()
      return learnt(
        'priority',
        await (byKind
          ? claimPriorityByKind(pool, ...params, spec.tenantIds, ...key, bounds)
          : claimPriority(pool, ...params, spec.tenantIds, ...key)),
      )
    }
    const fair = [
      rotation.afterTenant,
      limit,
      roundsFor(limit, rotation.tenants),
      rules.weights(),
      rotation.cutTenant,
      rotation.cutTaken,
    ] as const
    if (spec.tenantIds !== null) return claimFairOfTenants(pool, ...params, ...fair, bounds, spec.tenantIds)
    const form = byKind ? 'pair' : 'tenant'
    // What is left out by pair or by tenant has no new key. A kind that is left out lies behind its tenant's.
    walk.begin(form, byKind ? '' : kinds.join(' '))
    if (!walk.meetsDead())
      return learnt(
        form,
        await (byKind ? claimFairByKind(pool, ...params, ...fair, bounds) : claimFair(pool, ...params, ...fair)),
      )
    const keys = walk.keysOf(form)
    return learnt(
      form,
      await (byKind
        ? claimFairByKindPastDead(pool, ...params, ...fair, bounds, keys.kinds, ...keys.past)
        : claimFairPastDead(pool, ...params, ...fair, ...keys.past)),
    )
  }

  const learnt = (form: WalkForm, rows: readonly ClaimedRow[]): readonly ClaimedRow[] => {
    if (!foundLocked(rows)) walk.learn(form, rows)
    return rows
  }

  const claimUncapped = async (limit: number, shape: ClaimShape, passedOver: readonly string[]): Promise<Run[]> => {
    if (limit <= 0 || shape.kinds.length === 0) return []
    const lease = drawLease()
    const excluded =
      passedOver.length === 0
        ? shape.excludedTenants
        : { ...shape.excludedTenants, ...Object.fromEntries(passedOver.map((id) => [id, 1])) }
    const params: ClaimParams = [
      worker,
      instanceId(),
      lease,
      shape.kinds,
      limit,
      JSON.stringify(shape.excludedPairs),
      JSON.stringify(excluded),
    ]
    const byKind = isByKind(shape)
    const answer = await unheard.hear(lease, claimRows(params, limit, shape, byKind))
    const isLocked = foundLocked(answer)
    contended = isLocked ? contended + 1 : 0
    const rows = isLocked ? [] : answer
    tookAll = !byKind && !walk.meetsDead() && !isLocked && rows.length < limit
    if (spec.dispatch === 'fair') {
      const tenantsOfJobs = rows.map((row) => row[1])
      tookAll &&= spec.tenantIds === null && broughtAll(rotation, tenantsOfJobs, limit, rules.weightOf)
      rotation = rotate(rotation, tenantsOfJobs, limit, rules.weightOf)
    }
    return runsOf(rows, lease, performance.now())
  }

  return {
    async claim(limit, shape, passedOver) {
      tookAll = false
      const found = await unheard.find()
      if (found.length > 0) return found
      if (shape.caps === null) return claimUncapped(limit, shape, passedOver)
      // Each goes first every other time, so that neither waits for the other's backlog.
      cappedFirst = !cappedFirst
      const uncapped = withoutCapped(shape, shape.caps)
      const claims = [
        (left: number) => capped.claim(left, shape, passedOver),
        (left: number) => claimUncapped(left, uncapped, passedOver),
      ]
      const [one, other] = cappedFirst ? claims : claims.toReversed()
      const first = await one!(limit)
      try {
        const second = await other!(limit - first.length)
        tookAll = false
        return [...first, ...second]
      } catch (error) {
        // What is claimed already is run; the next claim meets the fault again.
        if (first.length === 0) throw error
        return first
      }
    },
    tookAll: () => tookAll,
    wake: capped.wake,
    retryInMs() {
      const freeAgain = contended === 0 ? null : Math.min(2 ** contended, longestContentionMs) * (1 + Math.random())
      const times = [freeAgain, capped.retryInMs(), walk.retryInMs()].filter((ms) => ms !== null)
      return times.length === 0 ? null : Math.min(...times)
    },
  }
}

/** What stands under a cap is claimed apart. */
function withoutCapped(shape: ClaimShape, { kinds, tenants, pairs }: Caps): ClaimShape {
  return {
    ...shape,
    kinds: shape.kinds.filter((kind) => !Object.hasOwn(kinds, kind)),
    excludedPairs: { ...shape.excludedPairs, ...pairs },
    excludedTenants: { ...shape.excludedTenants, ...tenants },
  }
}
