import { Cron } from 'croner'
import { parseDuration } from './duration.ts'
import type { KindSchedule } from './kind.ts'

/**
 * The last tick at or before `now`. Fixed intervals count from 1970 in UTC; a cron time runs once per local day: one that the clock skips in
 * spring runs at the first moment after the gap, one that comes twice in autumn runs the first time (FAULTS T05).
 */
export function lastTick(schedule: KindSchedule, now: Date): Date | null {
  if ('every' in schedule) {
    const everyMs = parseDuration(schedule.every)!
    return new Date(Math.floor(now.getTime() / everyMs) * everyMs)
  }
  // The reference itself counts as past: a tick that is due this very millisecond is due.
  return cronOf(schedule).previousRuns(1, new Date(now.getTime() + 1))[0] ?? null
}

/** The first tick after `now`; null: there is none. */
export function nextTick(schedule: KindSchedule, now: Date): Date | null {
  if ('every' in schedule) {
    const everyMs = parseDuration(schedule.every)!
    return new Date((Math.floor(now.getTime() / everyMs) + 1) * everyMs)
  }
  return cronOf(schedule).nextRun(now)
}

/** Throws a sentence where the five fields are no cron expression. */
export function cronOf({ cron, timeZone }: { readonly cron: string; readonly timeZone?: string }): Cron {
  return new Cron(cron, { mode: '5-part', timezone: timeZone ?? 'UTC', paused: true })
}
