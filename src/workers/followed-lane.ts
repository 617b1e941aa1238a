import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Events } from '../jobs/event.ts'
import { createBacklog, type Backlog } from './backlog.ts'
import type { Completer, End, Settled } from './completer.ts'
import type { RunnableKind } from './execution.ts'
import { follow } from './follow-ups.ts'
import { jobFacts } from './handler-context.ts'
import type { FailureFollower, FailureOutcome } from './handler.ts'
import { tryAgain } from './try-again.ts'

type UnsuccessfulEnd = Exclude<End, { move: 'finish' }>

/** Settles the ends of kinds with an `onFailure` that did not succeed, each in a transaction of its own in which their own rows follow. */
export interface FollowedLane extends Pick<Backlog, 'pending' | 'below'> {
  takes(end: UnsuccessfulEnd): boolean
  settle(end: UnsuccessfulEnd): void
}

interface FollowedLaneDeps {
  readonly pool: Pool
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly plain: Completer
  readonly events: Events
}

export function createFollowedLane({ pool, kinds, plain, events }: FollowedLaneDeps): FollowedLane {
  const backlog = createBacklog()

  const followerOf = ({ run }: UnsuccessfulEnd): FailureFollower | undefined => kinds.get(run.kind)?.onFailure

  const settleFollowed = async (end: UnsuccessfulEnd, follower: FailureFollower): Promise<void> => {
    const { run } = end
    for (let attempt = 1; ; attempt += 1) {
      try {
        const settled = await inTransaction(pool, async (tx) => {
          const how = await plain.settleIn(tx, end)
          const outcome = outcomeOf(end, how)
          if (outcome !== null) await follow(tx, follower, jobFacts(run), outcome)
          return how
        })
        // After a broken connection an end that is not found may have been committed by the first try.
        plain.committed(end, settled, attempt > 1)
        return
      } catch (error) {
        if (await tryAgain(error, attempt)) continue
        events.emit({ type: 'loop:failed', loop: `onFailure of ${run.kind}`, error: error as Error })
        plain.settle(end)
        return
      }
    }
  }

  return {
    pending: backlog.pending,
    below: backlog.below,
    takes: (end) => followerOf(end) !== undefined,
    settle(end) {
      backlog.add()
      void settleFollowed(end, followerOf(end)!).finally(() => backlog.done(1))
    },
  }
}

/** What `onFailure` is told; null: the job goes on. */
function outcomeOf(end: UnsuccessfulEnd, settled: Settled): FailureOutcome | null {
  if (settled.lost) return null
  const error = end.move === 'fail' ? end.decision.failure.error : null
  if (settled.outcome === 'dlq') return { move: 'dlq', error }
  if (settled.stop === null) return null
  return { move: settled.stop.cause === 'cancelled' ? 'cancel' : 'stop', error: settled.stop.reason ?? error }
}
