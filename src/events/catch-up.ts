import { jobEventsOf, type JournalRow } from '../jobs/job-event.ts'
import { readJournalSpans } from '../sql/read-journal-spans.ts'
import type { Queryable } from '../sql/statement.ts'
import { between, upTo, type Position } from './journal-position.ts'
import { isAboutJob } from './journal-tail.ts'
import type { FoundEvent } from './events-of-look.ts'

/** What a reader that was away reads by itself: exactly what was told at `to` and not at `from`, page by page. */
export interface CatchUp {
  nextPage(): Promise<CatchUpPage>
  /** What was told of it up to the row of that id. */
  positionAt(id: number): Position
  readonly to: Position
}

export interface CatchUpPage {
  readonly events: readonly FoundEvent[]
  readonly rows: readonly JournalRow[]
  /** Id up to which this page reaches; nothing is left beyond the last one. */
  readonly upTo: number
  readonly isLast: boolean
}

/** A message's worth: who does not pull holds one page, and the jobs in it may have 128 KiB each. */
const rowsAtOnce = 100
/** Spans beyond are read with a later page. */
const spansAtOnce = 200

export function createCatchUp(db: Queryable, from: Position, to: Position): CatchUp {
  let after = 0
  return {
    to,
    positionAt: (id) => upTo(to, id),
    async nextPage() {
      const all = between(from, to, after)
      const spans = all.slice(0, spansAtOnce)
      const found = await readJournalSpans(
        db,
        spans.map((span) => span.from),
        spans.map((span) => span.to),
        rowsAtOnce,
      )
      const isFull = found.length >= rowsAtOnce
      const isLast = !isFull && spans.length === all.length
      after = isFull ? found.at(-1)!.id : (spans.at(-1)?.to ?? to.high)
      const rows = found.filter(isAboutJob)
      const events = rows.flatMap((row) => jobEventsOf(row).map((event) => ({ rowId: row.id, event })))
      return { events, rows, upTo: isLast ? to.high : after, isLast }
    },
  }
}
