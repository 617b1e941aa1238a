import type { Queryable } from '../sql/statement.ts'
import type { Events } from '../jobs/event.ts'
import { promoteJobs } from '../sql/promote-jobs.ts'
import { createLoop } from './loop.ts'
import type { Pulses } from './pulses.ts'

/** Moves waiting jobs into the queue when their time has come: one timer to the earliest, the poll as backstop. */
export interface Promoter {
  start(): void
  /** A job may wait for an earlier moment than the timer's. */
  wake(): void
  stop(): Promise<void>
}

interface PromoterDeps {
  readonly pool: Queryable
  readonly events: Events
  readonly pulses: Pulses
  readonly pollMs: number
  readonly onPromoted: () => void
}

const batch = 1_000
/** Wake-ups come by the thousand while a queue drains: one look in this time is enough. */
const lookAtMostEveryMs = 20
/** Somebody held a job when its time came: when to look again. */
const lockedForMs = 500
/** What is due now is claimed first: a look beside the claim takes a core from it (0.8 ms, where the claim took 1.5). */
const lookAfterMs = 5

export function createPromoter({ pool, events, pulses, pollMs, onPromoted }: PromoterDeps): Promoter {
  const loop = createLoop({
    name: 'promote',
    events,
    pulse: pulses.of('promoter of waiting jobs'),
    retryAfterMs: pollMs,
    atMostEveryMs: lookAtMostEveryMs,
    async turn() {
      const [row] = await promoteJobs(pool, batch)
      const { promoted, isLeft, nextMs } = row!
      if (promoted > 0) onPromoted()
      if (promoted === batch) return 0
      // Half a millisecond more: a timer that fires early would find nothing.
      return Math.max(Math.min((nextMs ?? Infinity) + 0.5, isLeft ? lockedForMs : Infinity, pollMs), 1)
    },
  })
  let soon: NodeJS.Timeout | undefined
  return {
    start: loop.start,
    wake() {
      soon ??= setTimeout(() => {
        soon = undefined
        loop.ring()
      }, lookAfterMs)
    },
    stop() {
      clearTimeout(soon)
      return loop.stop()
    },
  }
}
