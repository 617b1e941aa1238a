import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { databaseFault } from '../jobs/database-fault.ts'
import type { Events, RecoveredFacts } from '../jobs/event.ts'
import { endStuckClaims } from '../sql/end-stuck-claims.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { recoverDeadInstances } from '../sql/recover-dead-instances.ts'
import { recoverLostClaims } from '../sql/recover-lost-claims.ts'
import { recoverStaleJobs } from '../sql/recover-stale-jobs.ts'
import { removeDeadInstances } from '../sql/remove-dead-instances.ts'
import { stopTenantJobs } from '../sql/stop-tenant-jobs.ts'
import { sweepClaims } from '../sql/sweep-claims.ts'
import { tryMaintenanceLock } from '../sql/try-maintenance-lock.ts'
import type { FollowUps } from './follow-ups.ts'
import { about, createLoop } from './loop.ts'
import { createPulses, type Pulses } from './pulses.ts'

/** Takes back what the dead and the stale hold; done by whichever instance gets the lock. */
export interface Maintenance {
  start(): void
  /** One sweep; null: another instance is at it. */
  runOnce(): Promise<RecoveredFacts[] | null>
  /** The backstop, which scans the table: running jobs that no claim row names; null: another instance is at it. */
  recoverLost(): Promise<RecoveredFacts[] | null>
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
  /** Their own rows follow each recovered job that does not come back; the jobs of closed tenants are not stopped in passing. */
  readonly followUps?: FollowUps
}

/** Bounded batches: 50,000 stale rows must not become one transaction. */
const batch = 1_000
/** Where own rows follow each, which may take a while. */
const batchWithFollowUps = 100
/** The largest claims take 30 ms on a warm database; one that has to read each of its 2,000 jobs from a slow disk some seconds. */
const standardLongestClaimMs = 10_000
/** Longer than any silence: then only those instances count as dead that have no row any more. */
const aLifetimeMs = 1e12

export function createMaintenance({
  pool,
  events,
  pulses = createPulses(Infinity),
  everyMs,
  deadAfterMs,
  longestClaimMs = standardLongestClaimMs,
  onRecovered,
  followUps = new Map(),
}: MaintenanceDeps): Maintenance {
  const pulse = pulses.of('maintenance')
  const recoveredAtOnce = followUps.size === 0 ? batch : batchWithFollowUps
  let stopping = false
  /** After an outage of the database the silence of others says nothing about them, until they had time to speak. */
  let trustsSilenceAt = -Infinity

  /** Batches until one is not full; each is a transaction of its own under the try-lock. */
  const recover = async (
    take: (tx: PoolClient, limit: number) => Promise<RecoveredFacts[]>,
  ): Promise<RecoveredFacts[] | null> => {
    const recovered: RecoveredFacts[] = []
    for (let full = true; full && !stopping;) {
      const rows = await inTransaction(pool, async (tx) => {
        const [lock] = await tryMaintenanceLock(tx)
        if (!lock!.taken) return null
        const taken = await take(tx, recoveredAtOnce)
        await followRecovered(tx, taken)
        return taken
      })
      if (rows === null) return null
      recovered.push(...rows)
      pulse.next(0)
      full = rows.length === recoveredAtOnce
      if (rows.length > 0) {
        onRecovered()
        events.emit({ type: 'jobs:recovered', jobs: rows })
      }
    }
    return recovered
  }

  /** Own rows that cannot follow do not keep a job from its recovery, nor the others; a conflict has it all made again. */
  const followRecovered = async (tx: PoolClient, recovered: readonly RecoveredFacts[]): Promise<void> => {
    const ended = recovered.filter(({ status, kind }) => status !== 'pending' && followUps.has(kind))
    if (ended.length === 0) return
    const ids = ended.map(({ id }) => id)
    for (const job of await readJobs(tx, ids, null)) {
      const move = job.status === 'dlq' ? 'dlq' : job.stopCause === 'cancelled' ? 'cancel' : 'stop'
      const error = move === 'dlq' ? job.lastError : (job.stopReason ?? job.lastError)
      await tx.query('savepoint followed')
      try {
        await followUps.get(job.kind)!(tx, job, { move, error })
        // Fails where a statement had failed and its error was caught: the savepoint after it would, and with it the whole recovery.
        await tx.query('release savepoint followed')
      } catch (failure) {
        if (databaseFault(failure) === 'conflict') throw failure
        await tx.query('rollback to savepoint followed')
        events.emit({ type: 'loop:failed', loop: `onFailure of ${job.kind}`, error: failure as Error })
      }
    }
  }

  /** What the closing of a tenant left: it was broken off, or a job came in at the same moment, or went back to pending since. */
  const stopJobsOfClosedTenants = async (): Promise<void> => {
    for (let stopped = batch; stopped > 0 && !stopping;) {
      const [row] = await stopTenantJobs(
        pool,
        null,
        [...followUps.keys()],
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
    const orphaned = await recover((tx, limit) => recoverDeadInstances(tx, silenceMs, limit))
    if (orphaned === null) return null
    await endStuckClaims(pool, longestClaimMs)
    const stale = await recover(recoverStaleJobs)
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
    recoverLost: () => recover(recoverLostClaims),
    async stop() {
      stopping = true
      await loop.stop()
    },
  }
}
