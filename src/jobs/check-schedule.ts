import { parseDuration } from './duration.ts'
import { cronOf } from './schedule.ts'

const second = 1_000
const longest = 366 * 24 * 60 * 60 * second

/** What is wrong with a kind's schedule, as the end of a sentence that begins with its place; null when nothing is. */
export function checkSchedule(schedule: unknown): { readonly field: string; readonly problem: string } | null {
  if (typeof schedule !== 'object' || schedule === null) {
    return {
      field: 'schedule',
      problem: "must be { every: 'PT5M' } or { cron: '0 3 * * *', timeZone: 'Europe/Berlin' }",
    }
  }
  const { every, cron, timeZone, ...rest } = schedule as Record<string, unknown>
  const [stray] = Object.keys(rest)
  if (stray !== undefined)
    return { field: `schedule.${stray}`, problem: 'is not a field of a schedule; these are every, cron and timeZone' }
  if ((every === undefined) === (cron === undefined))
    return { field: 'schedule', problem: 'must have exactly one of every and cron' }
  if (every !== undefined)
    return timeZone === undefined
      ? checkEvery(every)
      : { field: 'schedule.timeZone', problem: 'belongs to cron, not to every' }
  if (timeZone !== undefined && !isTimeZone(timeZone))
    return { field: 'schedule.timeZone', problem: 'must be a time zone such as Europe/Berlin' }
  return checkCron(cron)
}

function checkCron(cron: unknown): { readonly field: string; readonly problem: string } | null {
  if (typeof cron !== 'string') return { field: 'schedule.cron', problem: 'must be a text' }
  try {
    if (cronOf({ cron }).nextRun() === null) return { field: 'schedule.cron', problem: 'names a day that never comes' }
    return null
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, '')
    return {
      field: 'schedule.cron',
      problem: `must have five fields (minute hour day-of-month month day-of-week): ${reason}`,
    }
  }
}

function checkEvery(every: unknown): { readonly field: string; readonly problem: string } | null {
  const ms = typeof every === 'string' ? parseDuration(every) : null
  if (ms === null)
    return {
      field: 'schedule.every',
      problem: 'must be an ISO 8601 duration in weeks, days, hours, minutes or seconds, such as PT5M',
    }
  if (ms < second || ms > longest) return { field: 'schedule.every', problem: 'must be 1 second to 366 days' }
  return null
}

function isTimeZone(name: unknown): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: String(name) })
    return typeof name === 'string' && name !== ''
  } catch {
    return false
  }
}
