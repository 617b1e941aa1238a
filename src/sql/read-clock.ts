import { statement } from './statement.ts'

export const readClock = statement<[], { now: Date }>(
  'read_clock',
  `-- the clock that decides what is due
select clock_timestamp() as now`,
)
