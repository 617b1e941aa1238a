import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Events, RecoveredFacts } from '../jobs/event.ts'
import { endStuckClaims } from '../sql/end-stuck-claims.ts'
import { recoverDeadInstances } from '../sql/recover-dead-instances.ts'
import { recoverStaleJobs } from '../sql/recover-stale-jobs.ts'
import { removeDeadInstances } from '../sql/remove-dead-instances.ts'
import { stopTenantJobs } from '../sql/stop-tenant-jobs.ts'
import { sweepClaims } from '../sql/sweep-claims.ts'
import { tryMaintenanceLock } from '../sql/try-maintenance-lock.ts'
import { about, createLoop } from './loop.ts'
import { createPulses, type Pulses } from './pulses.ts'

/** Takes back what the dead and the stale hold; done by whichever instance gets the lock. */
export interface Maintenance {
  start(): void
  /** One sweep; null: another instance is at it. */
  runOnce(): Promise<RecoveredFacts[] | null>
  stop(): Promise<void>
}

interface MaintenanceDeps {
  readonly pool: Pool
  readonly events: Events
  readonly pulses?: Pulses
  readonly everyMs: number
  readonly deadAfterMs: number
  /** How long a claim may have its turn. */
  readonly longestClaimMs?: number
  readonly onRecovered: () => void
  /** Kinds of which jobs are not stopped in passing, since their own rows follow each. */
  readonly keepKinds?: readonly string[]
}

/** Bounded batches: 50,000 stale rows must not become one transaction. */
const batch = 1_000
/** The largest claims take 30 ms on a warm database; one that has to read each of its 2,000 jobs from a slow disk some seconds. */
const longestClaim = 10_000
/** Longer than any silence: then only those instances count as dead that have no row any more. */
const aLifetimeMs = 1e12

export function createMaintenance({
  pool,
  events,
  pulses = createPulses(Infinity),
  everyMs,
  deadAfterMs,
  longestClaimMs = longestClaim,
  onRecovered,
  keepKinds = [],
}: MaintenanceDeps): Maintenance {
  const pulse = pulses.of('maintenance')
  let stopping = false
  /** After an outage of the database the silence of others says nothing about them, until they had time to speak. */
  let trustsSilenceAt = -Infinity

  /** Batches until one is not full; each is a transaction of its own under the try-lock. */
  const recover = async (
    take: (tx: Parameters<Parameters<typeof inTransaction>[1]>[0]) => Promise<RecoveredFacts[]>,
  ): Promise<RecoveredFacts[] | null> => {
    const recovered: RecoveredFacts[] = []
    for (let full = true; full && !stopping;) {
      const rows = await inTransaction(pool, async (tx) => {
        const [lock] = await tryMaintenanceLock(tx)
        return lock!.taken ? await take(tx) : null
      })
      if (rows === null) return null
      recovered.push(...rows)
      pulse.next(0)
      full = rows.length === batch
      if (rows.length > 0) {
        onRecovered()
        events.emit({ type: 'jobs:recovered', jobs: rows })
      }
    }
    return recovered
  }

  /** What the closing of a tenant left: it was broken off, or a job came in at the same moment, or went back to pending since. */
  const stopJobsOfClosedTenants = async (): Promise<void> => {
    for (let stopped = batch; stopped > 0 && !stopping;) {
      const [row] = await stopTenantJobs(
        pool,
        null,
        keepKinds,
        batch,
        'system:maintenance',
        'The tenant is closed.',
        null,
      )
      stopped = row!.stopped
      if (stopped > 0) onRecovered()
    }
  }

  const runOnce = async (): Promise<RecoveredFacts[] | null> => {
    const silenceMs = performance.now() < trustsSilenceAt ? aLifetimeMs : deadAfterMs
    const orphaned = await recover((tx) => recoverDeadInstances(tx, silenceMs, batch))
    if (orphaned === null) return null
    await endStuckClaims(pool, longestClaimMs)
    const stale = await recover((tx) => recoverStaleJobs(tx, batch))
    await sweepClaims(pool, deadAfterMs)
    await removeDeadInstances(pool, silenceMs)
    await stopJobsOfClosedTenants()
    return [...orphaned, ...(stale ?? [])]
  }

  const loop = createLoop({
    name: 'maintenance',
    events,
    pulse,
    retryAfterMs: everyMs,
    async turn() {
      try {
        await runOnce()
        return about(everyMs)
      } catch (error) {
        trustsSilenceAt = performance.now() + deadAfterMs
        throw error
      }
    },
  })

  return {
    start: loop.start,
    runOnce,
    async stop() {
      stopping = true
      await loop.stop()
    },
  }
}
