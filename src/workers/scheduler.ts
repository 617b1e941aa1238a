import type { Queryable } from '../sql/statement.ts'
import type { Events } from '../jobs/event.ts'
import type { JobKind } from '../jobs/kind.ts'
import { lastTick, nextTick } from '../jobs/schedule.ts'
import { enqueueTick } from '../sql/enqueue-tick.ts'
import { readClock } from '../sql/read-clock.ts'
import { createLoop } from './loop.ts'
import type { Pulses } from './pulses.ts'

/** Enqueues the kinds that have a schedule. Every instance tries each tick; the database lets one through (FAULTS T03). */
export interface Scheduler {
  start(): void
  stop(): Promise<void>
}

interface SchedulerDeps {
  readonly pool: Queryable
  readonly events: Events
  readonly pulses: Pulses
  readonly kinds: readonly JobKind[]
  readonly onEnqueued: () => void
}

/** A tick that nobody was there for is made good for so long; then it is gone, the next one comes. */
const lateMs = 60_000
/** The database's clock is looked at anew at least this often. */
const longestSleepMs = 60_000
const retryAfterMs = 1_000

export function createScheduler({ pool, events, pulses, kinds, onEnqueued }: SchedulerDeps): Scheduler {
  const scheduled = kinds.flatMap((kind) =>
    kind.schedule === null ? [] : [{ name: kind.name, schedule: kind.schedule }],
  )
  const enqueued = new Map<string, number>()
  const loop = createLoop({
    name: 'schedule',
    events,
    pulse: pulses.of('scheduler'),
    retryAfterMs,
    async turn() {
      const now = (await readClock(pool))[0]!.now
      for (const { name, schedule } of scheduled) {
        const tick = lastTick(schedule, now)
        if (tick === null || now.getTime() - tick.getTime() > lateMs || enqueued.get(name) === tick.getTime()) continue
        const [row] = await enqueueTick(pool, name, tick.toISOString())
        enqueued.set(name, tick.getTime())
        if (row?.outcome === 'created') onEnqueued()
      }
      const next = Math.min(...scheduled.map(({ schedule }) => nextTick(schedule, now)?.getTime() ?? Infinity))
      return Math.min(Math.max(next - now.getTime(), 1), longestSleepMs)
    },
  })

  return {
    start() {
      if (scheduled.length > 0) loop.start()
    },
    stop: loop.stop,
  }
}
