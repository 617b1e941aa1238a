import type { JobEvent } from '../jobs/job-event.ts'
import { concerns, matchedBefore, matchesAfter, matchesNow } from '../jobs/job-stream-filter.ts'
import type { JobRow } from '../sql/job-row.ts'
import { createBell } from './bell.ts'
import type { Hub, Member } from './hub.ts'
import { createJobBatch, type JobBatch } from './job-batch.ts'
import { createLatestProgress } from './latest-progress.ts'
import type { JobUpdateBatch } from './job-update.ts'
import type { JobsSelection } from './jobs-selection.ts'
import { createJournalReader } from './journal-reader.ts'
import { isSamePosition } from './journal-position.ts'
import type { Told } from './journal-window.ts'
import { claimName, isExactCursor, jobCursorOf, jobsCursorOf, minuteNow, type JobsCursor } from './stream-cursor.ts'
import { createToldClaims } from './told-claims.ts'

/** Reads the journal for one stream of many jobs, or for all of them that are alike. */
export interface JobsSource {
  /** The next batch; undefined: it was released. One at a time. */
  pull(): Promise<JobUpdateBatch | undefined>
  /** Everything that is in the window was taken, and nothing waits to be told. */
  isAtRest(): boolean
  /**
   * Stops here, where it has told everything that is in the window and the window alone can say what comes next. Answers what it had
   * gathered for its next batch; null: it cannot stop here.
   */
  stopHere(): JobUpdateBatch | 'nothing' | null
  release(): void
}

interface SourceHooks {
  /** The relay stops. */
  readonly onEnd: () => void
  /** Called before it waits for news with nothing gathered. */
  readonly onRest?: () => void
  /** Called with each batch the moment it is made; `isExact`: its cursor says all that was told. */
  readonly onBatch?: (batch: JobUpdateBatch, isExact: boolean) => void
}

/** Without news an empty batch says that the stream lives, and brings a fresh cursor. */
const quietMs = 15_000
const progressEveryMs = 1_000

export function createJobsSource(
  hub: Hub,
  { filter, windowMs, conflate, progress: wantsProgress, sees }: JobsSelection,
  after: JobsCursor | null,
  { onEnd, onRest, onBatch }: SourceHooks,
): JobsSource {
  const bell = createBell()
  const claims = createToldClaims(after?.claims ?? new Set())
  const progress = createLatestProgress(progressEveryMs)
  /** What is gathered for the next batch. */
  let gathered: JobBatch | undefined
  /** It may grow at any moment. */
  let isWaiting = false
  let left = false
  /** The claims are noted that were told before it began. */
  let hasBegun = false

  const wants = (event: JobEvent): boolean => concerns(filter, event) && sees(event.tenantId)

  const readOn = (batch: JobBatch): void => {
    const before = batch.size()
    reader.readOn(takeInto(batch))
    if (batch.size() > before) bell.ring()
  }

  const member: Member = {
    jobId: null,
    isSource: true,
    wants,
    wantsProgress,
    news() {
      if (isWaiting) readOn(gathered!)
    },
    tellProgress(job) {
      if (!sees(job.tenantId) || !matchesNow(filter, job)) return
      progress.report(job)
      if (isWaiting) bell.ring()
    },
    missing() {},
    end: onEnd,
  }
  const feed = hub.enter(member)
  const reader = createJournalReader({ db: hub.db, feed, wants, after, isLeft: () => left })

  /** Events of one journal row, all or none. */
  const takeInto =
    (batch: JobBatch) =>
    (events: readonly Told[]): boolean => {
      const told = events.flatMap((each) => (isWanted(each) ? [each] : []))
      // One more, as a last progress report may go before the end of a run.
      if (told.length > 0 && !batch.fits(told.length + (wantsProgress ? 1 : 0))) return false
      for (const each of events) note(each)
      for (const { event, job, snapshot } of told) {
        const isRunOver = event.fromStatus === 'running' && event.toStatus !== 'running'
        if (wantsProgress && isRunOver && job !== null && progress.isNews(job)) addProgress(batch, job)
        batch.add({
          type: 'EVENT',
          cursor: jobCursorOf(event.jobId, event.revision),
          jobId: event.jobId,
          job,
          event,
          matchesFilter: matchesAfter(filter, event, job ?? snapshot),
        })
      }
      for (const { event } of events) if (event.toStatus !== 'running') progress.end(event.jobId)
      return true
    }

  const isWanted = ({ event, job, snapshot }: Told): boolean => {
    if (!wants(event) || (event.type === 'CLAIMED' && !claims.isNews(event.jobId, event.revision))) return false
    const facts = job ?? snapshot
    return matchesAfter(filter, event, facts) || matchedBefore(filter, event, facts)
  }

  const note = ({ event }: Told): void => {
    if (event.type === 'CLAIMED') claims.tell(event.jobId, event.revision)
    if (event.toStatus !== 'running') claims.end(event.jobId)
  }

  const addProgress = (batch: JobBatch, job: JobRow): void => {
    progress.told(job)
    batch.add({
      type: 'PROGRESS',
      cursor: jobCursorOf(job.id, job.revision),
      jobId: job.id,
      job,
      event: null,
      matchesFilter: true,
    })
  }

  const deliver = (batch: JobBatch, resync: boolean): JobUpdateBatch => {
    gathered = undefined
    if (reader.isAtEnd()) claims.forgetOld(feed.running)
    const here: JobsCursor = { position: reader.position(), minute: minuteNow(), claims: claims.names() }
    const delivered = { cursor: jobsCursorOf(here), updates: batch.updates(), resync }
    onBatch?.(delivered, isExactCursor(here))
    return delivered
  }

  const isAtEnd = (): boolean => feed.isReady() && reader.isAtEnd()

  /** What runs at its first end was told, or began before it: its cursors name it, so that who resumes is not told of it with the end. */
  const noteFormerClaims = (): void => {
    if (hasBegun || !isAtEnd()) return
    hasBegun = true
    for (const event of feed.running.values()) if (wants(event)) claims.tell(event.jobId, event.revision)
  }

  /** Whether the window knows all that was told: a cursor may come from an instance that was ahead of this one. */
  const isWithinWindow = (): boolean => {
    if (!isSamePosition(reader.position(), feed.window().position())) return false
    const running = new Set(feed.running.values().map(({ jobId, revision }) => claimName(jobId, revision)))
    return claims.names().isSubsetOf(running)
  }

  const pull = async (): Promise<JobUpdateBatch | undefined> => {
    const batch = createJobBatch(conflate)
    const quietAt = performance.now() + quietMs
    let dueAt = Infinity
    gathered = batch
    for (;;) {
      const isWhole = await reader.read(takeInto(batch))
      if (left) return undefined
      if (!isWhole) {
        claims.clear()
        return deliver(createJobBatch(conflate), true)
      }
      noteFormerClaims()
      for (const job of progress.due()) if (batch.fits(1)) addProgress(batch, job)
      const now = performance.now()
      if (batch.size() > 0) dueAt = Math.min(dueAt, now + windowMs)
      if (!batch.fits(2) || now >= dueAt || now >= quietAt) return deliver(batch, false)
      isWaiting = true
      if (batch.size() === 0) onRest?.()
      if (!left) await bell.wait(Math.min(dueAt, quietAt, now + progress.nextDueMs()) - now)
      isWaiting = false
      if (left) return undefined
    }
  }

  const release = (): void => {
    if (left) return
    left = true
    hub.leave(member)
    bell.ring()
  }

  return {
    pull,
    isAtRest: () => hasBegun && (gathered === undefined || gathered.size() === 0) && isAtEnd(),
    stopHere() {
      if (!isWaiting || left) return null
      const batch = gathered!
      readOn(batch)
      if (!isAtEnd() || !isWithinWindow()) return null
      const rest = batch.size() === 0 ? 'nothing' : deliver(batch, false)
      release()
      return rest
    },
    release,
  }
}
