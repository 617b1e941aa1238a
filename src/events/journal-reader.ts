import type { JobEvent } from '../jobs/job-event.ts'
import { readJournalStart } from '../sql/read-journal-start.ts'
import type { Queryable } from '../sql/statement.ts'
import { createCatchUp, type CatchUp } from './catch-up.ts'
import type { JournalFeed } from './journal-feed.ts'
import { includes, isKept, union, type Position } from './journal-position.ts'
import { positionWithin, type Place, type Told } from './journal-window.ts'
import { patiently } from './patiently.ts'
import type { JobsCursor } from './stream-cursor.ts'
import { toldWithJobs } from './told-with-jobs.ts'

interface ReaderDeps {
  readonly db: Queryable
  readonly feed: JournalFeed
  readonly wants: (event: JobEvent) => boolean
  /** Null: from now on. */
  readonly after: JobsCursor | null
  readonly isLeft: () => boolean
}

/** Takes the events of one journal row, at once or not at all; false: there is no room for them now. */
type Take = (events: readonly Told[]) => boolean

/** One reader's way through the journal: from its cursor, over what it missed, into the window that all share. */
export interface JournalReader {
  /** Reads until `take` refuses or nothing is left. False: events were lost to this reader; it goes on from now. */
  read(take: Take): Promise<boolean>
  /** The same as far as it needs no database; nothing while the reader has to catch up. */
  readOn(take: Take): void
  /** Nothing is left that is in the window. */
  isAtEnd(): boolean
  /** Where it stands: everything told up to here was taken. */
  position(): Position
}

/** Who falls out of the window may be so far behind before it has to begin anew. */
const mostMissed = 10_000
const mostIdleMs = 60_000

export function createJournalReader({ db, feed, wants, after, isLeft }: ReaderDeps): JournalReader {
  let begun = false
  /** Had before it joined the window: never told again. */
  let had: Position = { high: 0, gaps: [] }
  let place: Place = { reading: 0, offset: 0 }
  let at: Position = had
  let countAt = 0
  let readAt = performance.now()
  let catching: Catching | undefined
  let lastRound = 0
  // A reader that was there before the feed was ready sees its first reading, too.
  let joined = false

  const join = (position: Position, reading: number): void => {
    joined = true
    had = position
    at = position
    place = { reading, offset: 0 }
    countAt = feed.window().count()
    catching = undefined
  }

  const joinNow = (): void => join(feed.window().position(), feed.window().next())

  if (after === null && feed.isReady()) joinNow()
  else if (after === null) void feed.ready.then(() => isLeft() || join(feed.start(), 0))

  const catchUpFrom = (from: Position): void => {
    feed.reopen(from.gaps)
    joinNow()
    catching = {
      source: createCatchUp(db, from, had),
      doneId: 0,
      told: [],
      offset: 0,
      isLast: false,
      claims: [...feed.running.values()],
    }
    had = from
  }

  const begin = async (): Promise<boolean> => {
    await feed.ready
    if (isLeft() || after === null) return true
    const [start] = await patiently(() => readJournalStart(db), isLeft)
    if (isLeft()) return true
    // The cursor may come from an instance that was ahead of this one: then its claims would be taken for running that have ended.
    await feed.catchUp()
    if (isLeft()) return true
    const { position } = after
    if (!isKept(after, start!)) {
      joinNow()
      return false
    }
    lastRound = Infinity
    catchUpFrom(position)
    return true
  }

  const takeJournal = async (take: Take): Promise<boolean> => {
    while (catching !== undefined && !isLeft()) {
      const step = catching
      if (step.offset < step.told.length) {
        const group = rowOf(step.told, step.offset)
        if (!take(group)) return false
        step.offset += group.length
        step.doneId = group[0]!.rowId ?? step.doneId
      } else if (!step.isLast) {
        const page = await patiently(() => step.source.nextPage(), isLeft)
        step.told = await patiently(
          () =>
            toldWithJobs(
              db,
              page.events.filter(({ event }) => wants(event)),
              page.rows,
            ),
          isLeft,
        )
        step.offset = 0
        step.isLast = page.isLast
        if (step.told.length === 0) step.doneId = page.upTo
      } else if (step.claims !== null) {
        // What ran when it joined may have been claimed while it was away.
        const found = step.claims.filter(wants).map((event) => ({ rowId: null, event }))
        step.told = await patiently(() => toldWithJobs(db, found, []), isLeft)
        step.offset = 0
        step.doneId = step.source.to.high
        step.claims = null
      } else {
        had = union(had, step.source.to)
        catching = undefined
      }
    }
    return true
  }

  /** Undefined: its place is gone from the window. */
  const takeWindow = (take: Take): boolean | undefined => {
    const window = feed.window()
    if (place.reading < window.first()) return undefined
    const isDone = ((): boolean => {
      for (let reading = window.at(place.reading); reading !== undefined; reading = window.at(place.reading)) {
        while (place.offset < reading.told.length) {
          const group = rowOf(reading.told, place.offset)
          const news = group.filter(({ rowId }) => rowId === null || !includes(had, rowId))
          if (news.length > 0 && !take(news)) return false
          place = { ...place, offset: place.offset + group.length }
        }
        place = { reading: place.reading + 1, offset: 0 }
      }
      return true
    })()
    const here = window.at(place.reading)
    at = here === undefined ? window.position() : positionWithin(here, place.offset)
    countAt = window.count()
    return isDone
  }

  const isAtEnd = (): boolean => catching === undefined && place.reading === feed.window().next()

  /** A reader that reads a long way may be out of the window again when it comes there; it has to come closer with each round. */
  const mayCatchUp = (idleMs: number): boolean => {
    const missed = feed.window().count() - countAt
    const isSlow = missed > Math.max(mostMissed, lastRound / 2) || idleMs > mostIdleMs
    lastRound = missed
    return !isSlow
  }

  return {
    async read(take) {
      const idleMs = performance.now() - readAt
      try {
        if (!begun) {
          begun = true
          if (!(await begin())) return false
        }
        for (;;) {
          if (isLeft() || !(await takeJournal(take)) || isLeft()) return true
          const isDone = takeWindow(take)
          if (isDone === true) lastRound = 0
          if (isDone !== undefined) return true
          if (!mayCatchUp(idleMs)) {
            joinNow()
            return false
          }
          catchUpFrom(union(had, at))
        }
      } finally {
        readAt = performance.now()
      }
    },
    readOn(take) {
      if (joined && catching === undefined) takeWindow(take)
    },
    isAtEnd,
    position() {
      if (catching !== undefined) return union(had, catching.source.positionAt(catching.doneId))
      return union(had, isAtEnd() ? feed.window().position() : at)
    },
  }
}

interface Catching {
  readonly source: CatchUp
  /** Id up to which everything was taken. */
  doneId: number
  told: readonly Told[]
  offset: number
  isLast: boolean
  /** Claims still to be told at the end; null: they are in `told`. */
  claims: readonly JobEvent[] | null
}

/** The events that came with the same journal row stay together: a cursor cannot stand between them. */
function rowOf(told: readonly Told[], offset: number): readonly Told[] {
  const { rowId } = told[offset]!
  let end = offset + 1
  while (rowId !== null && told[end]?.rowId === rowId) end += 1
  return told.slice(offset, end)
}
