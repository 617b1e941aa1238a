import { ranges } from '../jobs/ranges.ts'

/** The input `ScheduleInput`: exactly one of the two; `after` in milliseconds. */
export interface ScheduleInput {
  readonly at?: Date | null | undefined
  readonly after?: number | null | undefined
}

/** Null, or the sentence that says how far ahead a job may be scheduled. */
export function outsideSchedule(schedule: ScheduleInput | null | undefined): string | null {
  const { max } = ranges.scheduleMs
  const tooFar = 'A job may be scheduled at most 366 days ahead.'
  if (schedule?.after != null && schedule.after > max) return tooFar
  if (schedule?.at == null) return null
  if (schedule.at.getTime() < ranges.instant.min) return 'A job may be scheduled from 1970 to 366 days ahead.'
  return schedule.at.getTime() > Date.now() + max ? tooFar : null
}
