import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { DueKinds } from '../events/wakeup.ts'
import { kindsWithOwnSlot } from '../jobs/kinds.ts'
import { broughtAll, firstRotation, rotate, roundsFor, type Rotation } from '../jobs/fairness.ts'
import { claimFairByKind } from '../sql/claim-fair-by-kind.ts'
import { claimFairOfTenants } from '../sql/claim-fair-of-tenants.ts'
import { claimFair } from '../sql/claim-fair.ts'
import { heldUpBy, type ClaimedRow } from '../sql/claimed-row.ts'
import type { ClaimParams } from '../sql/claim-parts.ts'
import { claimPriorityByKind } from '../sql/claim-priority-by-kind.ts'
import { claimPriority } from '../sql/claim-priority.ts'
import type { Queryable } from '../sql/statement.ts'
import { waitForTurn } from '../sql/wait-for-turn.ts'
import { createCappedDispatcher } from './capped-dispatcher.ts'
import type { Caps, ClaimRules, ClaimShape } from './claim-rules.ts'
import { createClaimWalk } from './claim-walk.ts'
import { drawLease } from './draw-lease.ts'
import { runsOf, type Receive, type Run } from './run.ts'
import type { UnheardClaims } from './unheard-claims.ts'

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
  /** Claims up to `limit` jobs in the pool's order and hands them on to its receiver; tenants in `passedOver` are left out. */
  claim(limit: number, shape: ClaimShape, passedOver: readonly string[]): Promise<Run[]>
  /** Whether the last claim brought all that is due and that nobody else is claiming. False where that is not known. */
  tookAll(): boolean
  /** Whether the last claim may have left due jobs that it could have brought: turns were filled, it began behind others, or its half had no place. */
  wasCut(): boolean
  /** There may be due jobs, of the kinds that are told, or room under a cap. */
  wake(dueKinds: DueKinds): void
  /** Whether the last claim came to nothing since another one had its turn. */
  isHeldUp(): boolean
  /** When to look again, in milliseconds, since others were just claiming what is due or it may have been stepped over; null: nothing of the sort. */
  retryInMs(): number | null
}

interface DispatcherDeps {
  readonly spec: PoolSpec
  readonly pool: Pool
  readonly worker: string
  readonly instanceId: string
  readonly rules: ClaimRules
  readonly unheard: UnheardClaims
  readonly receive: Receive
}

/** A claim of 2,000 jobs has its turn for 30 ms; somebody may hold a lock on a due job for long. */
const longestMs = { busy: 8, locked: 500 }
/**
 * Who gets few jobs and was held up so often waits in line: beside three that each claim two thousand at a time, of which one begins as soon as
 * another ends, a pool of few slots drew in vain for seconds. Who gets many goes on trying: while it holds the turn its process has other work.
 */
const inLine = { after: 3, jobs: 64, withinMs: 1_000 }

/** Decides which claim statement runs, and where the rotation over the tenants stands. */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { spec, pool, worker, instanceId, rules, unheard, receive } = deps
  let rotation: Rotation = firstRotation
  const capped = createCappedDispatcher(deps)
  const walk = createClaimWalk(rules)
  let cappedFirst = false
  let tookAll = false
  let wasCut = false
  /** Whether the last claim was made kind by kind. */
  let byKind = false
  /** What held the last claim up, and how many in a row; and of how many in a row it was that another one had its turn. */
  let heldUp: ReturnType<typeof heldUpBy> = null
  let contended = 0
  let turnedAway = 0
  /** By the last claim that had its turn; a pool of short handlers wants hundreds also where it gets one. */
  let brought = 0

  /** Jobs of kinds that are not served here are due. */
  const foreignDue = ({ kinds }: ClaimShape): boolean =>
    [...rules.dueKinds()].some((kind) => !kinds.includes(kind) && !kindsWithOwnSlot.includes(kind))

  /** A wrong guess at the statement costs time, never order: tenant-first is a quarter of the price of kind-first with nine kinds and 100 tenants. */
  const claimRows = async (
    db: Queryable,
    params: ClaimParams,
    limit: number,
    shape: ClaimShape,
  ): Promise<readonly ClaimedRow[]> => {
    const [, , , kinds, , excludedPairs, excludedTenants] = params
    const bounds = JSON.stringify(shape.pairBounds)
    const form = spec.dispatch === 'priority' ? 'priority' : 'tenant'
    const served = JSON.stringify(form === 'priority' ? [kinds, excludedPairs, excludedTenants] : kinds)
    const isForeignDue = foreignDue(shape)
    const leavesOutPairs = excludedPairs !== '{}' || bounds !== '{}'
    const canStepOver = isForeignDue && !leavesOutPairs && (form === 'priority' || spec.tenantIds === null)
    byKind = leavesOutPairs || walk.goesByKind(form, served, isForeignDue)
    const learnt = (rows: readonly ClaimedRow[]): readonly ClaimedRow[] => {
      if (heldUpBy(rows) !== null) return rows
      // A claim that was not filled by half has brought what is due: the next one looks at the front. And tenants that it did not come to would have
      // no key: their foreign jobs would be walked.
      const stepsOver =
        canStepOver && rows.length > limit / 2 && (!byKind || form === 'priority' || tenantsOf(rows) < limit)
      walk.learn(rows, limit, stepsOver ? { form, served } : null)
      return rows
    }
    if (spec.dispatch === 'priority') {
      walk.begin('priority', served)
      const key = walk.lastKey()
      return learnt(
        await (byKind
          ? claimPriorityByKind(db, ...params, spec.tenantIds, ...key, bounds)
          : claimPriority(db, ...params, spec.tenantIds, ...key)),
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
    if (byKind || spec.tenantIds !== null) {
      // What is left out by pair or by tenant has no new key.
      walk.begin('pair', '')
      const past = walk.keysOf('pair')
      return learnt(
        await (spec.tenantIds === null
          ? claimFairByKind(db, ...params, ...fair, ...past, bounds)
          : claimFairOfTenants(db, ...params, ...fair, ...past, bounds, spec.tenantIds)),
      )
    }
    walk.begin('tenant', served)
    const [tenants, priorities, times, ids] = walk.keysOf('tenant')
    const haveMore = walk.keysHaveMore(limit)
    return learnt(await claimFair(db, ...params, ...fair, tenants, priorities, times, ids, haveMore))
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
      instanceId,
      lease,
      shape.kinds,
      limit,
      JSON.stringify(shape.excludedPairs),
      JSON.stringify(excluded),
    ]
    const claiming =
      turnedAway >= inLine.after && Math.min(limit, brought) <= inLine.jobs
        ? inTransaction(pool, async (tx) => {
            await waitForTurn(tx, String(inLine.withinMs))
            return claimRows(tx, params, limit, shape)
          })
        : claimRows(pool, params, limit, shape)
    const rows = await unheard.hear(lease, claiming)
    heldUp = heldUpBy(rows)
    contended = heldUp === null ? 0 : contended + 1
    turnedAway = heldUp === 'busy' ? turnedAway + 1 : 0
    if (heldUp !== null) return []
    brought = rows.length
    const isBehind = walk.startsBehind()
    const tenantsOfJobs = rows.map((row) => row[1])
    const allTurns = spec.dispatch !== 'fair' || broughtAll(rotation, tenantsOfJobs, limit, rules.weightOf)
    wasCut ||= isBehind || !allTurns
    tookAll =
      !byKind && !isBehind && rows.length < limit && allTurns && (spec.dispatch !== 'fair' || spec.tenantIds === null)
    if (spec.dispatch === 'fair') rotation = rotate(rotation, tenantsOfJobs, limit, rules.weightOf)
    const runs = runsOf(rows, lease)
    if (runs.length > 0) receive(runs)
    return runs
  }

  return {
    async claim(limit, shape, passedOver) {
      tookAll = false
      wasCut = false
      heldUp = null
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
        wasCut = true
        return [...first, ...second]
      } catch (error) {
        // What is claimed already is run; the next claim meets the fault again.
        if (first.length === 0) throw error
        return first
      }
    },
    tookAll: () => tookAll,
    wasCut: () => wasCut,
    wake: capped.wake,
    isHeldUp: () => heldUp === 'busy',
    retryInMs() {
      const freeAgain = heldUp === null ? null : Math.min(2 ** contended, longestMs[heldUp]) * (1 + Math.random())
      const times = [freeAgain, capped.retryInMs(), walk.retryInMs()].filter((ms) => ms !== null)
      return times.length === 0 ? null : Math.min(...times)
    },
  }
}

const tenantsOf = (rows: readonly ClaimedRow[]): number => new Set(rows.map((row) => row[1])).size

/** What stands under a cap is claimed apart. */
function withoutCapped(shape: ClaimShape, { kinds, tenants, pairs }: Caps): ClaimShape {
  return {
    ...shape,
    kinds: shape.kinds.filter((kind) => !Object.hasOwn(kinds, kind)),
    excludedPairs: { ...shape.excludedPairs, ...pairs },
    excludedTenants: { ...shape.excludedTenants, ...tenants },
  }
}
