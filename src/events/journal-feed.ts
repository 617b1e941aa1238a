import type { JobEvent } from '../jobs/job-event.ts'
import type { Queryable } from '../sql/statement.ts'
import { createBell } from './bell.ts'
import { eventsOfLook, type FoundEvent } from './events-of-look.ts'
import type { Position, Span } from './journal-position.ts'
import { openJournalTail, type JournalTail, type Look } from './journal-tail.ts'
import { createJournalWindow, type JournalWindow, type Reading } from './journal-window.ts'
import { toldWithJobs } from './told-with-jobs.ts'

interface FeedDeps {
  readonly db: Queryable
  readonly pollMs: number
  /** The end of the feed before this one. It begins then: who comes and goes leaves no reads behind that others have to wait for. */
  readonly former: Promise<void>
  readonly onError: (error: Error) => void
  /** Whether anybody wants to hear of this event. */
  readonly wants: (event: JobEvent) => boolean
  /** Called after each look that brought something somebody wants. */
  readonly tell: (reading: Reading) => void
  /** Called after each look. */
  readonly looked?: () => void
}

/** One reading of the journal for all. It lives as long as there are subscribers. */
export interface JournalFeed {
  /** The end of the journal has been found and looked at once. */
  readonly ready: Promise<void>
  isReady(): boolean
  /** Once it is ready. */
  window(): JournalWindow
  /** Where it began. */
  start(): Position
  /** Claims that were told up to the window's end, and whose end was not, by job. */
  readonly running: ReadonlyMap<string, JobEvent>
  /** Looks soon. */
  wake(): void
  /** Looks soon, and answers when all has been told that was committed before the call. */
  catchUp(): Promise<void>
  /** Looks for these ids too, if it began after them. */
  reopen(gaps: readonly Span[]): void
  lookedMsAgo(): number
  stop(): Promise<void>
}

/** Wake-ups that come close together are one look. */
const leastPauseMs = 5
const gapPauseMs = 300
const failurePausesMs = [100, 300, 1_000, 2_000]
/** A job that was deleted by hand never ends: its claim would stay for ever. */
const mostRunning = 20_000

export function startJournalFeed({ db, pollMs, former, onError, wants, tell, looked }: FeedDeps): JournalFeed {
  const bell = createBell()
  const end = createBell()
  const ready = Promise.withResolvers<void>()
  const running = new Map<string, JobEvent>()
  /** The same a little earlier: as of the window's end. */
  const toldRunning = new Map<string, JobEvent>()
  let open: OpenJournal | undefined
  let seen: Seen | undefined
  let askers: (() => void)[] = []
  let isFirst = true
  let failures = 0
  let lookedAt = performance.now()
  let isReady = false
  let stopped = false
  /** Once it is stopped it reads no further. */
  const reads: Queryable = {
    query: (config) => (stopped ? Promise.reject(new Error('The feed was stopped.')) : db.query(config)),
  }

  /** A look whose telling failed is told by the next round: nothing is lost to a broken connection. */
  const round = async (): Promise<number> => {
    open ??= await openAtEnd(reads)
    const { tail, window } = open
    const startedAt = performance.now()
    if (seen === undefined) {
      const asked = askers
      askers = []
      try {
        seen = { ...(await see(tail)), asked }
      } catch (error) {
        askers.push(...asked)
        throw error
      }
    }
    const { look, events, asked } = seen
    // What ran already when the first subscriber came is no news.
    const news = events.filter(({ rowId, event }) => rowId !== null || !isFirst || event.at >= tail.openedAt)
    const told = await toldWithJobs(
      reads,
      news.filter(({ event }) => wants(event)),
      look.rows,
    )
    seen = undefined
    isFirst = false
    lookedAt = startedAt
    const reading = { before: window.position(), after: look.after, ids: look.ids, told }
    window.append(reading)
    noteRunning(events)
    isReady = true
    ready.resolve()
    if (told.length > 0) tell(reading)
    looked?.()
    if (look.more) {
      askers.push(...asked)
      return 0
    }
    for (const answer of asked) answer()
    return look.after.gaps.length > 0 ? Math.min(gapPauseMs, pollMs) : pollMs
  }

  const see = async (tail: JournalTail): Promise<{ look: Look; events: FoundEvent[] }> => {
    const look = await tail.look()
    return { look, events: eventsOfLook(look, running) }
  }

  const noteRunning = (events: readonly FoundEvent[]): void => {
    for (const { event } of events) {
      if (event.type === 'CLAIMED') toldRunning.set(event.jobId, event)
      else if (event.toStatus !== 'running') toldRunning.delete(event.jobId)
    }
    for (const jobId of running.keys()) {
      if (running.size <= mostRunning) break
      running.delete(jobId)
      toldRunning.delete(jobId)
    }
  }

  const run = async (): Promise<void> => {
    await former
    while (!stopped) {
      let pauseMs: number
      try {
        pauseMs = await round()
        failures = 0
      } catch (error) {
        if (stopped) return
        onError(error as Error)
        pauseMs = failurePausesMs[Math.min(failures, failurePausesMs.length - 1)]!
        failures += 1
      }
      if (stopped) return
      if (failures === 0) await bell.wait(pauseMs)
      // Wake-ups do not shorten the pause after a failure.
      const leastMs = failures > 0 ? pauseMs : leastPauseMs - lookedMsAgo()
      if (leastMs > 0 && !stopped) await end.wait(leastMs)
    }
  }
  const lookedMsAgo = (): number => performance.now() - lookedAt
  const finished = run()

  return {
    ready: ready.promise,
    isReady: () => isReady,
    window: () => open!.window,
    start: () => open!.start,
    running: toldRunning,
    wake: () => bell.ring(),
    catchUp: () =>
      new Promise((resolve) => {
        if (stopped) return resolve()
        askers.push(resolve)
        bell.ring()
      }),
    reopen: (gaps) => open!.window.reopen(open!.tail.reopen(gaps)),
    lookedMsAgo,
    async stop() {
      stopped = true
      ready.resolve()
      bell.ring()
      end.ring()
      await finished
      for (const answer of [...askers, ...(seen?.asked ?? [])]) answer()
    },
  }
}

/** A look, and who asked for it. */
interface Seen {
  readonly look: Look
  readonly events: readonly FoundEvent[]
  readonly asked: readonly (() => void)[]
}

interface OpenJournal {
  readonly tail: JournalTail
  readonly window: JournalWindow
  readonly start: Position
}

async function openAtEnd(db: Queryable): Promise<OpenJournal> {
  const tail = await openJournalTail(db)
  const start = tail.position()
  return { tail, window: createJournalWindow(start), start }
}
