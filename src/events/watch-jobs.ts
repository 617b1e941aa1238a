import type { JobEvent } from '../jobs/job-event.ts'
import { concerns, matchedBefore, matchesAfter, matchesNow, type JobStreamFilter } from '../jobs/job-stream-filter.ts'
import type { JobRow } from '../sql/job-row.ts'
import { createBell } from './bell.ts'
import type { Hub, Member } from './hub.ts'
import { createJobBatch, type JobBatch } from './job-batch.ts'
import { createLatestProgress } from './latest-progress.ts'
import type { JobUpdateBatch } from './job-update.ts'
import { createJournalReader } from './journal-reader.ts'
import type { Told } from './journal-window.ts'
import { jobCursorOf, jobsCursorOf, minuteNow, readJobsCursor, type JobsCursor } from './stream-cursor.ts'
import { createStream, type Stream } from './stream.ts'
import { createToldClaims } from './told-claims.ts'

export interface WatchJobs {
  readonly filter: JobStreamFilter
  /** Resume after this cursor. Null: from now on. */
  readonly after: string | null
  /** How long changes are gathered, 0 to 5,000. */
  readonly windowMs: number
  /** Of several changes of one job in a batch only the last. */
  readonly conflate: boolean
  /** Progress too, at most once a second a job. */
  readonly progress: boolean
  /** Whether the reader may see this tenant's jobs: asked for each message. */
  readonly sees: (tenantId: string) => boolean
}

/** Without news an empty batch says that the stream lives, and brings a fresh cursor. */
const quietMs = 15_000
const progressEveryMs = 1_000

export function watchJobs(hub: Hub, options: WatchJobs): Stream<JobUpdateBatch> {
  const { filter, windowMs, conflate, sees } = options
  let after: JobsCursor | null
  try {
    after = options.after === null ? null : readJobsCursor(options.after)
  } catch (error) {
    return createStream<JobUpdateBatch>({ pull: () => Promise.reject(error as Error), release() {} })
  }
  const bell = createBell()
  const claims = createToldClaims(after?.claims ?? new Set())
  const progress = createLatestProgress(progressEveryMs)
  let waiting: JobBatch | undefined
  let left = false

  const wants = (event: JobEvent): boolean => concerns(filter, event) && sees(event.tenantId)

  const member: Member = {
    jobId: null,
    wants,
    wantsProgress: options.progress,
    news() {
      if (waiting === undefined) return
      const before = waiting.size()
      reader.readOn(takeInto(waiting))
      if (waiting.size() > before) bell.ring()
    },
    tellProgress(job) {
      if (!sees(job.tenantId) || !matchesNow(filter, job)) return
      progress.report(job)
      if (waiting !== undefined) bell.ring()
    },
    missing() {},
    end: () => void stream.return(),
  }
  const feed = hub.enter(member)
  const reader = createJournalReader({ db: hub.db, feed, wants, after, isLeft: () => left })

  /** Events of one journal row, all or none. */
  const takeInto =
    (batch: JobBatch) =>
    (events: readonly Told[]): boolean => {
      const told = events.flatMap((each) => (isWanted(each) ? [each] : []))
      // One more, as a last progress report may go before the end of a run.
      if (told.length > 0 && !batch.fits(told.length + (options.progress ? 1 : 0))) return false
      for (const each of events) note(each)
      for (const { event, job, snapshot } of told) {
        const isRunOver = event.fromStatus === 'running' && event.toStatus !== 'running'
        if (options.progress && isRunOver && job !== null && progress.isNews(job)) addProgress(batch, job)
        batch.add({
          type: 'EVENT',
          cursor: jobCursorOf(event.jobId, event.revision),
          jobId: event.jobId,
          job,
          event,
          matchesFilter: matchesAfter(filter, event, job ?? snapshot),
        })
      }
      return true
    }

  const isWanted = ({ event, job, snapshot }: Told): boolean => {
    if (!wants(event) || (event.type === 'CLAIMED' && !claims.isNews(event.jobId, event.revision))) return false
    const facts = job ?? snapshot
    return matchesAfter(filter, event, facts) || matchedBefore(filter, event, facts)
  }

  const note = ({ event }: Told): void => {
    if (event.type === 'CLAIMED') claims.tell(event.jobId, event.revision)
    if (event.toStatus !== 'running') {
      claims.end(event.jobId)
      progress.end(event.jobId)
    }
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
    waiting = undefined
    if (reader.isAtEnd()) claims.forgetOld(feed.running)
    const cursor = jobsCursorOf({ position: reader.position(), minute: minuteNow(), claims: claims.names() })
    return { cursor, updates: batch.updates(), resync }
  }

  const stream: Stream<JobUpdateBatch> = createStream({
    async pull() {
      const batch = createJobBatch(conflate)
      const quietAt = performance.now() + quietMs
      let dueAt = Infinity
      waiting = undefined
      for (;;) {
        const isWhole = await reader.read(takeInto(batch))
        if (left) return undefined
        if (!isWhole) {
          claims.clear()
          return deliver(createJobBatch(conflate), true)
        }
        for (const job of progress.due()) if (batch.fits(1)) addProgress(batch, job)
        const now = performance.now()
        if (batch.size() > 0) dueAt = Math.min(dueAt, now + windowMs)
        if (!batch.fits(2) || now >= dueAt || now >= quietAt) return deliver(batch, false)
        waiting = batch
        await bell.wait(Math.min(dueAt, quietAt, now + progress.nextDueMs()) - now)
        waiting = undefined
        if (left) return undefined
      }
    },
    release() {
      left = true
      hub.leave(member)
      bell.ring()
    },
  })
  return stream
}
