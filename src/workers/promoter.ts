import type { Queryable } from '../sql/statement.ts'
import type { Events } from '../jobs/event.ts'
import { promoteJobs } from '../sql/promote-jobs.ts'

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
  readonly pollMs: number
  readonly onPromoted: () => void
}

const batch = 1_000
/** Wake-ups come by the thousand while a queue drains: one look in this time is enough. */
const lookAtMostEveryMs = 20

export function createPromoter({ pool, events, pollMs, onPromoted }: PromoterDeps): Promoter {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let again = false
  let stopped = false
  let lookedAt = -Infinity

  const look = async (): Promise<void> => {
    for (let full = true; full && !stopped;) {
      again = false
      lookedAt = performance.now()
      try {
        const [row] = await promoteJobs(pool, batch)
        if (row!.promoted > 0) onPromoted()
        full = row!.promoted === batch
        // Half a millisecond more: a timer that fires early would find nothing.
        sleep(again ? lookAtMostEveryMs : row!.nextMs === null ? pollMs : Math.min(row!.nextMs + 0.5, pollMs))
      } catch (error) {
        events.emit({ type: 'loop:failed', loop: 'promote', error: error as Error })
        full = false
        sleep(pollMs)
      }
    }
  }

  const wake = (): void => {
    if (stopped) return
    const early = lookedAt + lookAtMostEveryMs - performance.now()
    if (running !== undefined) again = true
    else if (early > 0) sleep(early)
    else running = look().finally(() => (running = undefined))
  }

  const sleep = (ms: number): void => {
    clearTimeout(timer)
    if (!stopped) timer = setTimeout(wake, Math.max(ms, 1))
  }

  return {
    start: wake,
    wake,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
