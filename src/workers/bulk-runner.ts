import type { Pool } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'
import { createBell } from '../events/bell.ts'
import type { Wakeup } from '../events/wakeup.ts'
import type { Events } from '../jobs/event.ts'
import { faultBulkOperation } from '../sql/fault-bulk-operation.ts'
import { readNextBulkBatch } from '../sql/read-next-bulk-batch.ts'
import { BulkFault, runBulkBatch, type BulkBatch, type FollowUps } from './bulk-batch.ts'

/** Works off bulk operations, batch by batch, beside all other instances that do the same. */
export interface BulkRunner {
  start(): void
  /** One batch; null: nothing is due. */
  runOnce(): Promise<BulkBatch | null>
  /** After the batch that is under way; others go on with the rest. */
  stop(): Promise<void>
}

interface BulkRunnerDeps {
  readonly pool: Pool
  readonly events: Events
  readonly wakeup: Pick<Wakeup, 'on' | 'signal'>
  readonly pollMs: number
  readonly followUps: FollowUps
}

/** What is due and not to be had is in the hands of another instance. */
const othersAtItMs = 100

export function createBulkRunner({ pool, events, wakeup, pollMs, followUps }: BulkRunnerDeps): BulkRunner {
  const bell = createBell()
  let stopped = false
  let loop: Promise<void> | undefined
  let unsubscribe = (): void => undefined

  const failed = (loopName: string, error: unknown): void =>
    events.emit({ type: 'loop:failed', loop: loopName, error: error as Error })

  const runOnce = async (): Promise<BulkBatch | null> => {
    try {
      const batch = await runBulkBatch(pool, followUps, (kind, error) => failed(`onFailure of ${kind}`, error))
      if (batch === null) return null
      if (batch.requested) wakeup.signal('control')
      if (batch.operation.action === 'replay' && batch.succeeded > 0) wakeup.signal('work')
      wakeup.signal('journal')
      return batch
    } catch (error) {
      if (!(error instanceof BulkFault)) throw error
      const fault = databaseFault(error.cause)
      // Nothing of the batch happened; it comes again.
      if (fault === 'conflict') return null
      if (fault === 'unavailable') throw error.cause
      failed(`bulk operation ${error.operationId}`, error.cause)
      await faultBulkOperation(pool, error.operationId, whatStopped(error.cause))
      wakeup.signal('journal')
      return null
    }
  }

  const run = async (): Promise<void> => {
    while (!stopped) {
      let pauseMs = 0
      try {
        if ((await runOnce()) === null) pauseMs = othersAtItMs
        const [next] = await readNextBulkBatch(pool)
        const dueInMs = next!.dueInMs ?? pollMs
        pauseMs = dueInMs > 0 ? Math.min(dueInMs, pollMs) : pauseMs
      } catch (error) {
        failed('bulk operations', error)
        pauseMs = pollMs
      }
      if (!stopped && pauseMs > 0) await bell.wait(pauseMs)
    }
  }

  return {
    start() {
      unsubscribe = wakeup.on('control', () => bell.ring())
      loop ??= run()
    },
    runOnce,
    async stop() {
      stopped = true
      unsubscribe()
      bell.ring()
      await loop
    },
  }
}

/** Says what kind of fault it was, nothing of what the database holds. */
function whatStopped(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unforeseen'
  return `The database refused a step (${code}); what was done before stays done. The service's log says more. Start it again with the same idempotency key once that is mended.`
}
