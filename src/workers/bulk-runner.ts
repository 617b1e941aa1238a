import type { Pool } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'
import type { Wakeup } from '../events/wakeup.ts'
import type { Events } from '../jobs/event.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import { faultBulkOperation } from '../sql/fault-bulk-operation.ts'
import { readNextBulkBatch } from '../sql/read-next-bulk-batch.ts'
import { BulkFault, runBulkBatch, type BulkBatch } from './bulk-batch.ts'
import type { FollowUps } from './follow-ups.ts'
import { createLoop } from './loop.ts'
import { createPulses, type Pulses } from './pulses.ts'

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
  readonly pulses?: Pulses
  readonly wakeup: Pick<Wakeup, 'on' | 'signal'>
  readonly pollMs: number
  readonly followUps: FollowUps
}

/** What is due and not to be had is in the hands of another instance. */
const othersAtItMs = 100

export function createBulkRunner({
  pool,
  events,
  pulses = createPulses(Infinity),
  wakeup,
  pollMs,
  followUps,
}: BulkRunnerDeps): BulkRunner {
  let unsubscribe = (): void => undefined

  const failed = (loopName: string, error: unknown): void =>
    events.emit({ type: 'loop:failed', loop: loopName, error: error as Error })

  const tell = ({ operation, succeeded, skipped, completed }: BulkBatch): void => {
    const facts = factsOf(operation)
    const { operationId, action } = facts
    events.emit({ type: 'bulk:batch', operationId, action, succeeded, skipped })
    if (!completed) return
    const all = { succeeded: facts.succeeded + succeeded, skipped: facts.skipped + skipped }
    events.emit({ type: 'bulk:ended', status: 'completed', ...facts, ...all })
  }

  const runOnce = async (): Promise<BulkBatch | null> => {
    try {
      const batch = await runBulkBatch(pool, followUps, (kind, error) => failed(`onFailure of ${kind}`, error))
      if (batch === null) return null
      if (batch.requested) wakeup.signal('control')
      if (batch.operation.action === 'replay' && batch.succeeded > 0) wakeup.signal('work')
      wakeup.signal('journal')
      tell(batch)
      return batch
    } catch (error) {
      if (!(error instanceof BulkFault)) throw error
      const fault = databaseFault(error.cause)
      // Nothing of the batch happened; it comes again.
      if (fault === 'conflict') return null
      if (fault === 'unavailable') throw error.cause
      const { operation } = error
      failed(`bulk operation ${operation.id}`, error.cause)
      const ended = await faultBulkOperation(pool, operation.id, whatStopped(error.cause))
      if (ended.length > 0) events.emit({ type: 'bulk:ended', status: 'faulted', ...factsOf(operation) })
      wakeup.signal('journal')
      return null
    }
  }

  const loop = createLoop({
    name: 'bulk operations',
    events,
    pulse: pulses.of('runner of bulk operations'),
    retryAfterMs: pollMs,
    async turn() {
      const pauseMs = (await runOnce()) === null ? othersAtItMs : 0
      const [next] = await readNextBulkBatch(pool)
      const dueInMs = next!.dueInMs ?? pollMs
      return dueInMs > 0 ? Math.min(dueInMs, pollMs) : pauseMs
    },
  })

  return {
    start() {
      unsubscribe = wakeup.on('control', loop.ring)
      loop.start()
    },
    runOnce,
    async stop() {
      unsubscribe()
      await loop.stop()
    },
  }
}

const factsOf = ({ id, action, matched, succeeded, skipped }: BulkOperationRow) => ({
  operationId: id,
  action,
  matched,
  succeeded,
  skipped,
})

/** Says what kind of fault it was, nothing of what the database holds. */
function whatStopped(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unforeseen'
  return `The database refused a step (${code}); what was done before stays done. The service's log says more. Start it again with the same idempotency key once that is mended.`
}
