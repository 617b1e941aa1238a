import type { JobEvent } from '../jobs/job-event.ts'
import type { FilteredJob } from '../jobs/job-stream-filter.ts'
import type { JobRow } from '../sql/job-row.ts'
import { advance, reopen, type Position, type Span } from './journal-position.ts'

/** One event as it is told to all who want it. */
export interface Told {
  /** The journal row that it came with; null: a claim found on the job while it runs. */
  readonly rowId: number | null
  readonly event: JobEvent
  readonly job: JobRow | null
  /** What is known of a job that has no row any more. */
  readonly snapshot: FilteredJob | null
}

/** What one look brought that somebody wanted. */
export interface Reading {
  readonly before: Position
  readonly after: Position
  /** Ids of all rows of the look, in ascending order. */
  readonly ids: readonly number[]
  readonly told: readonly Told[]
}

/** A place between two events of the window. */
export interface Place {
  readonly reading: number
  readonly offset: number
}

/** The latest readings, shared by all readers. It is bounded: who is too far behind finds its place gone and reads the journal itself. */
export interface JournalWindow {
  append(reading: Reading): void
  /** The reading of that number; undefined: gone, or not there yet. */
  at(number: number): Reading | undefined
  /** Number of the oldest reading, and of the next one to come. */
  first(): number
  next(): number
  /** Position after the newest reading. */
  position(): Position
  /** Takes these ids for gaps from now on. */
  reopen(gaps: readonly Span[]): void
  /** How many events were ever put in. */
  count(): number
}

const mostEvents = 5_000
const mostBytes = 16 * 1024 * 1024

export function createJournalWindow(start: Position): JournalWindow {
  let readings: Reading[] = []
  let first = 0
  let position = start
  let held = { events: 0, bytes: 0 }
  let count = 0
  return {
    append(reading) {
      position = reading.after
      if (reading.told.length === 0) return
      readings.push(reading)
      count += reading.told.length
      held = { events: held.events + reading.told.length, bytes: held.bytes + weigh(reading) }
      let gone = 0
      while (readings.length - gone > 1 && (held.events > mostEvents || held.bytes > mostBytes)) {
        const oldest = readings[gone]!
        held = { events: held.events - oldest.told.length, bytes: held.bytes - weigh(oldest) }
        gone += 1
      }
      if (gone > 0) readings = readings.slice(gone)
      first += gone
    },
    at: (number) => readings[number - first],
    first: () => first,
    next: () => first + readings.length,
    position: () => position,
    reopen(gaps) {
      position = reopen(position, gaps)
    },
    count: () => count,
  }
}

/** The position after so many events of the reading. */
export function positionWithin(reading: Reading, offset: number): Position {
  if (offset >= reading.told.length) return reading.after
  const last = reading.told.slice(0, offset).findLast(({ rowId }) => rowId !== null)?.rowId
  return last == null
    ? reading.before
    : advance(
        reading.before,
        reading.ids.filter((id) => id <= last),
      )
}

function weigh({ ids, told }: Reading): number {
  let bytes = ids.length * 8
  for (const { job } of told)
    bytes += 1_000 + (job === null ? 0 : job.payloadText.length + (job.resultText?.length ?? 0))
  return bytes
}
