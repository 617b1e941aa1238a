import { setImmediate as endOfTurn } from 'node:timers/promises'
import { databaseFault } from '../jobs/database-fault.ts'
import type { Events } from '../jobs/event.ts'
import { leavesOut, type ClaimShape } from './claim-rules.ts'
import type { Pulse } from './pulses.ts'
import type { Run } from './run.ts'

/** Claims while something is wanted, and knows when another look is worth while. */
export interface ClaimLoop {
  /** Claims if something is wanted, unless the last look found nothing more. */
  look(): void
  /** Something may have changed: the next look is worth while. */
  wake(): void
  /** Whether the last look found no more, and nothing was heard of since: whatever comes now would be claimed. */
  isAtRest(): boolean
  /** Claims no more; resolves when no claim is under way. */
  stop(): Promise<void>
}

interface ClaimLoopDeps {
  /** How many jobs to claim now; 0: none. */
  readonly wanted: () => number
  readonly shape: () => ClaimShape
  readonly claim: (want: number, shape: ClaimShape) => Promise<readonly Run[]>
  /** Whether the last claim brought all that is due for this pool, as far as it is known: another look can wait. */
  readonly tookAll: () => boolean
  /** Whether the last claim came to nothing since another one had its turn. */
  readonly isHeldUp: () => boolean
  /** When to look again, in milliseconds, though nothing was heard of: what is due may have been locked or stepped over; null: nothing of the sort. */
  readonly retryInMs: () => number | null
  /** Whether the last claim may have left due jobs that its shape did not exclude: of tenants over their share, or behind turns that were filled. */
  readonly leftSome: () => boolean
  /** Told before a claim for which something is no longer left out: the look has to be at all. */
  readonly reopened: () => void
  readonly events: Events
  readonly pulse: Pulse
  readonly pollMs: number
}

/** What others were just claiming hides who comes behind it: a look that took all is made sure of, once nobody waits for it. */
const lookAgainMs = 50
const retryAfterMs = [100, 300, 1_000, 3_000]
/** Jobs that were sent back to wait for their token are promoted this soon after it: a look before them comes to nothing. */
const promotedWithinMs = 15

export function createClaimLoop(deps: ClaimLoopDeps): ClaimLoop {
  const { wanted, shape, claim, tookAll, isHeldUp, retryInMs, leftSome, reopened, events, pulse, pollMs } = deps
  /** The last look found nothing more: only a wake-up, the poll or the end of an exclusion makes another one worth while. */
  let exhausted = false
  let woken = false
  /** Others claim: no wake-up changes that, and where they come by the thousand each would cost a statement. */
  let waitsForTurn = false
  let stopped = false
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let timerFired = false
  /** Added to the moment at which a bucket refills. */
  let lateMs = 0
  /** When something may be claimed again that the last claim left out, in monotonic milliseconds. It may pass while the claim is under way. */
  let reopensAt = Infinity
  let underWay: Promise<void> | undefined
  /** Somebody asked while the loop was under way. */
  let asked = false

  const claimAll = async (): Promise<void> => {
    for (let want = wanted(); want > 0 && !stopped; want = wanted()) {
      woken = false
      const atTimer = timerFired
      timerFired = false
      const now = performance.now()
      if (now >= reopensAt) reopened()
      const allowed = shape()
      reopensAt = now + (allowed.reopensInMs ?? Infinity)
      const runs = await claim(want, allowed)
      pulse.next(0)
      failures = 0
      if (atTimer) lateMs = runs.length === 0 ? promotedWithinMs : 0
      waitsForTurn = runs.length === 0 && isHeldUp()
      if ((!woken || waitsForTurn) && nothingMore(runs, want)) return
    }
    pulse.rest()
  }

  /**
   * Fewer than wanted, and it was all, or all of them took the last tokens of their pairs: what else is due would have come with them. To look
   * once more after each was half of the claims of a system that is not busy.
   */
  const nothingMore = (runs: readonly Run[], want: number): boolean => {
    const next = shape()
    if (runs.length >= want || !(tookAll() || (!leftSome() && runs.every((run) => leavesOut(next, run))))) return false
    exhausted = true
    const reopensInMs = Math.min(next.reopensInMs ?? Infinity, Math.max(reopensAt - performance.now(), 0))
    // Timers drop fractions: one that fires early would find the bucket still empty.
    const lookInMs = Math.min(Math.ceil(reopensInMs) + 1 + lateMs, pollMs)
    const sleepMs = Math.min(lookInMs, retryInMs() ?? pollMs, tookAll() && runs.length > 0 ? lookAgainMs : pollMs)
    sleep(sleepMs)
    pulse.next(sleepMs)
    return true
  }

  const run = async (): Promise<void> => {
    try {
      pulse.begin()
      // All slots that come free in this turn of the event loop share a claim: one for the first of 512 kept the others waiting for its answer.
      await endOfTurn()
      await claimAll()
    } catch (error) {
      exhausted = true
      pulse.failed(error)
      if (databaseFault(error) !== 'conflict')
        events.emit({ type: 'loop:failed', loop: 'claim', error: error as Error })
      sleep(retryAfterMs[Math.min(failures, retryAfterMs.length - 1)]! * (0.5 + Math.random()))
      failures += 1
    } finally {
      underWay = undefined
      // A slot may have come free after the loop had asked for the last time what is wanted, and nobody else would look again.
      if (asked) look()
    }
  }

  const look = (): void => {
    // The loop under way asks itself what is wanted, once its statement has answered, and once more at its end.
    asked = underWay !== undefined
    if (asked || exhausted || stopped) return
    if (wanted() > 0) underWay = run()
    else pulse.rest()
  }

  const sleep = (ms: number): void => {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      exhausted = false
      waitsForTurn = false
      timerFired = true
      look()
    }, ms)
  }

  return {
    look,
    wake() {
      if (!waitsForTurn) exhausted = false
      woken = true
      look()
    },
    isAtRest: () => exhausted && retryInMs() === null && failures === 0 && underWay === undefined,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await underWay
    },
  }
}
