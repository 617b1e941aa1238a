import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { claimCappedByPriority } from '../sql/claim-capped-by-priority.ts'
import { claimCapped } from '../sql/claim-capped.ts'
import type { ClaimedRow } from '../sql/claimed-row.ts'
import { tryCapsLock } from '../sql/try-caps-lock.ts'
import { noTenant } from '../jobs/fairness.ts'
import type { ClaimRules, ClaimShape } from './claim-rules.ts'
import { drawLease } from './draw-lease.ts'
import { runsOf, type Receive, type Run } from './run.ts'
import type { UnheardClaims } from './unheard-claims.ts'

/** Claims what stands under a cap. */
interface CappedDispatcher {
  /** Up to `limit` jobs in the pool's order; tenants in `passedOver` are left out. Nothing while another instance claims so. */
  claim(limit: number, shape: ClaimShape, passedOver: readonly string[]): Promise<Run[]>
  /** There may be due jobs, or room under a cap. */
  wake(): void
  /** Another instance was just claiming: when to look again, in milliseconds; null: nobody was. */
  retryInMs(): number | null
}

interface CappedDispatcherDeps {
  readonly spec: { readonly dispatch: 'fair' | 'priority'; readonly tenantIds: readonly string[] | null }
  readonly pool: Pool
  readonly worker: string
  readonly instanceId: string
  readonly rules: Pick<ClaimRules, 'weights'>
  readonly unheard: UnheardClaims
  readonly receive: Receive
}

/** As long as a claim under caps takes: another instance has the lock. */
const lockedForMs = 4
/** Without a wake-up nothing changes for what stands under caps; looked at all the same, in case one was lost. */
const quietForMs = 1_000

/**
 * Claims what stands under a cap over all instances: one instance at a time, since each claim has to see what the one before it took. The lock is
 * taken first and the claim is a statement of its own, with a snapshot from after it: in one statement it would count what had been running before.
 */
export function createCappedDispatcher({
  spec,
  pool,
  worker,
  instanceId,
  rules,
  unheard,
  receive,
}: CappedDispatcherDeps): CappedDispatcher {
  let afterTenant = noTenant
  let quietUntil = 0
  let locked = false

  const claimRows = async (
    limit: number,
    lease: string,
    shape: ClaimShape,
    excludedTenants: string,
  ): Promise<ClaimedRow[] | null> => {
    const claim = spec.dispatch === 'priority' ? claimCappedByPriority : claimCapped
    return inTransaction(pool, async (tx) => {
      const [lock] = await tryCapsLock(tx)
      if (!lock!.taken) return null
      return claim(
        tx,
        worker,
        instanceId,
        lease,
        shape.kinds,
        limit,
        JSON.stringify(shape.excludedPairs),
        excludedTenants,
        JSON.stringify(shape.pairBounds),
        spec.tenantIds,
        afterTenant,
        rules.weights(),
      )
    })
  }

  return {
    async claim(limit, shape, passedOver) {
      locked = false
      if (limit <= 0 || shape.kinds.length === 0 || performance.now() < quietUntil) return []
      const lease = drawLease()
      const excluded = { ...shape.excludedTenants, ...Object.fromEntries(passedOver.map((id) => [id, 1])) }
      // A wake-up that comes meanwhile asks for another look. What brings nothing is asked again without those who were passed over.
      if (passedOver.length === 0) quietUntil = performance.now() + quietForMs
      const claiming = unheard.hear(lease, claimRows(limit, lease, shape, JSON.stringify(excluded)))
      const rows = await claiming.catch((error: unknown) => {
        quietUntil = 0
        throw error
      })
      if (rows === null) {
        locked = true
        quietUntil = 0
        return []
      }
      if (rows.length === 0) return []
      afterTenant = rows.at(-1)![1]
      quietUntil = 0
      const runs = runsOf(rows, lease)
      receive(runs)
      return runs
    },
    wake() {
      quietUntil = 0
    },
    retryInMs: () => (locked ? lockedForMs * (0.5 + Math.random()) : null),
  }
}
