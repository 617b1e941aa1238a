import type { JobEvent } from '../jobs/job-event.ts'
import { findGoneJobs } from '../sql/find-gone-jobs.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { Queryable } from '../sql/statement.ts'
import type { Hub, Member } from './hub.ts'
import { createJobLoader } from './job-loader.ts'
import type { JobUpdate, JobUpdateBatch } from './job-update.ts'
import { createJobWatchers, type JobWatchers } from './job-watchers.ts'
import type { SharedJobs } from './jobs-selection.ts'
import { startJournalFeed, type JournalFeed } from './journal-feed.ts'
import { missing } from './journal-position.ts'
import { findEnd } from './journal-tail.ts'
import type { Reading } from './journal-window.ts'
import { startProgressBoard, type ProgressBoard } from './progress-board.ts'
import { auditCursorOf, claimName, jobCursorOf, jobsCursorOf, minuteNow } from './stream-cursor.ts'
import { createSharedJobs } from './shared-jobs.ts'
import type { Stream } from './stream.ts'
import type { Wakeup } from './wakeup.ts'
import { watchAudit, type WatchAudit, type AuditNews } from './watch-audit.ts'
import { watchJob, type WatchJob } from './watch-job.ts'
import { watchJobs, type WatchJobs } from './watch-jobs.ts'
import { watchState, type WatchState } from './watch-state.ts'

export interface RelayDeps {
  /** Reads the journal. */
  readonly db: Queryable
  readonly wakeup: Pick<Wakeup, 'on' | 'onProgress'>
  /** How long after the last look to look again without any wake-up. */
  readonly pollMs: number
  /** A read failed; the relay goes on after a pause. */
  readonly onError?: (error: Error) => void
}

/** Reads the journal for all subscribers of this process; reads nothing while there are none. */
export interface Relay {
  /** Nothing has to be there before the first subscriber; it is here so that all parts start and stop alike. */
  start(): Promise<void>
  /** Ends every open stream. */
  stop(): Promise<void>
  /** The position of a read made after this call: passed as `after` to watchJobs it misses nothing. */
  streamCursor(): Promise<string>
  /** The position of a read of the audit log made after this call: passed as `after` to watchAudit it misses nothing. */
  auditCursor(): Promise<string>
  /** The position of this read of one job: passed as `after` to watchJob it misses nothing. */
  jobCursor(job: JobRow): string
  /** One job's stream. The first `next` rejects with a StreamError: NOT_FOUND, or INVALID for a bad cursor. Left with `return`. */
  watchJob(options: WatchJob): Stream<JobUpdate>
  /** Many jobs' stream, in batches. The first `next` rejects with a StreamError INVALID for a bad cursor. Left with `return`. */
  watchJobs(options: WatchJobs): Stream<JobUpdateBatch>
  /** The audit log's stream, line by line. The first `next` rejects with a StreamError INVALID for a bad cursor. Left with `return`. */
  watchAudit(options: WatchAudit): Stream<AuditNews>
  /** What is read anew when something may have changed. The first `next` rejects with a StreamError NOT_FOUND where there is nothing. Left with `return`. */
  watchState<State>(options: WatchState<State>): Stream<State>
  openStreams(): number
  /** How much longer ago than the poll the journal was last read; 0 while there is no subscriber. */
  lagSeconds(): number
  /** Ids that are not visible although later ones are, and may still come. */
  openGaps(): number
}

/** A cursor that is a little older misses nothing either. */
const cursorLivesMs = 1_000
const lookForGoneEveryMs = 15_000

export function createRelay({ db, wakeup, pollMs, onError = () => {} }: RelayDeps): Relay {
  const members = new Set<Member>()
  const ofMany = new Set<Member>()
  const states = new Set<Stream<unknown>>()
  const streams = new Set<{ return(): Promise<unknown> }>()
  const shared = new Map<string, SharedJobs>()
  let sources = 0
  const ofOne = new Map<string, JobWatchers>()
  let feed: JournalFeed | undefined
  let board: ProgressBoard | undefined
  let unsubscribe = (): void => {}
  let goneTimer: NodeJS.Timeout | undefined
  let closing: Promise<void> = Promise.resolve()
  let cursor: { readonly at: number; readonly read: Promise<string> } | undefined

  const wants = (event: JobEvent): boolean =>
    ofOne.has(event.jobId) || ofMany.values().some((member) => member.wants(event))

  const tell = ({ told }: Reading): void => {
    // All of a job's at once: whoever writes it out does so once.
    if (ofOne.size > 0)
      for (const [jobId, events] of Map.groupBy(told, ({ event }) => event.jobId)) ofOne.get(jobId)?.tell(events)
    for (const member of ofMany) member.news(told)
  }

  const watchersOf = (jobId: string): JobWatchers => {
    let watchers = ofOne.get(jobId)
    if (watchers === undefined) ofOne.set(jobId, (watchers = createJobWatchers()))
    return watchers
  }

  const hub: Hub = {
    db,
    readJob: createJobLoader(db),
    enter(member) {
      members.add(member)
      if (member.isSource === true) sources += 1
      if (member.jobId === null) ofMany.add(member)
      else watchersOf(member.jobId).enter(member)
      feed ??= open()
      if (member.wantsProgress)
        board ??= startProgressBoard({ db, onError, wanted: progressWanted, claimOf, tell: tellProgress })
      return feed
    },
    leave(member) {
      if (!members.delete(member)) return
      if (member.isSource === true) sources -= 1
      ofMany.delete(member)
      const watchers = member.jobId === null ? undefined : ofOne.get(member.jobId)
      watchers?.leave(member)
      if (watchers?.members.size === 0) ofOne.delete(member.jobId!)
      if (members.size === 0) close()
      if (board !== undefined && !members.values().some(({ wantsProgress }) => wantsProgress)) {
        board.stop()
        board = undefined
      }
    },
    tellCrowd: (member, hearer, crowd, standing) =>
      watchersOf(member.jobId!).tellCrowd(member, hearer, crowd, standing),
    share(name, selection) {
      const known = shared.get(name)
      if (known !== undefined) return known
      const made: SharedJobs = createSharedJobs(hub, selection, () => {
        if (shared.get(name) === made) shared.delete(name)
      })
      shared.set(name, made)
      return made
    },
    opened(stream) {
      streams.add(stream)
      return () => streams.delete(stream)
    },
  }

  const open = (): JournalFeed => {
    const looked = (): void => {
      for (const member of ofMany) member.looked?.()
    }
    const opened = startJournalFeed({ db, pollMs, former: closing, onError, wants, tell, looked })
    const subscriptions = [wakeup.on('journal', opened.wake), wakeup.onProgress((hint) => board?.hint(hint))]
    unsubscribe = () => {
      for (const end of subscriptions) end()
    }
    goneTimer = setInterval(() => void tellGone().catch(onError), lookForGoneEveryMs)
    return opened
  }

  const close = (): void => {
    unsubscribe()
    clearInterval(goneTimer)
    closing = feed?.stop() ?? closing
    feed = undefined
  }

  /** Retention deletes a row without a word. */
  const tellGone = async (): Promise<void> => {
    if (ofOne.size === 0) return
    for (const { id } of await findGoneJobs(db, [...ofOne.keys()]))
      for (const member of ofOne.get(id)?.members ?? []) member.missing()
  }

  const claimOf = (jobId: string): number | undefined => feed?.running.get(jobId)?.revision

  const progressWanted = (): ReadonlySet<string> => {
    const ids = new Set<string>()
    for (const member of members) {
      if (!member.wantsProgress) continue
      if (member.jobId !== null && feed?.running.has(member.jobId) === true) ids.add(member.jobId)
      else if (member.jobId === null)
        for (const event of feed?.running.values() ?? []) if (member.wants(event)) ids.add(event.jobId)
    }
    return ids
  }

  const tellProgress = (job: JobRow): void => {
    for (const member of [...(ofOne.get(job.id)?.members ?? []), ...ofMany])
      if (member.wantsProgress) member.tellProgress(job)
  }

  const readCursor = async (): Promise<string> => {
    const { position } = await findEnd(db)
    return jobsCursorOf({ position, minute: minuteNow(), claims: new Set() })
  }

  return {
    async start() {},
    async stop() {
      for (const stream of streams) void stream.return()
      for (const member of members) member.end()
      for (const stream of states) void stream.return()
      await closing
    },
    async streamCursor() {
      if (feed?.isReady() === true) {
        const claims = new Set(feed.running.values().map(({ jobId, revision }) => claimName(jobId, revision)))
        return jobsCursorOf({ position: feed.window().position(), minute: minuteNow(), claims })
      }
      if (cursor === undefined || performance.now() - cursor.at > cursorLivesMs) {
        const mine = { at: performance.now(), read: readCursor() }
        mine.read.catch(() => cursor === mine && (cursor = undefined))
        cursor = mine
      }
      return cursor.read
    },
    async auditCursor() {
      return auditCursorOf(feed?.isReady() === true ? feed.window().position() : (await findEnd(db)).position)
    },
    jobCursor: (job) => jobCursorOf(job.id, job.revision),
    watchJob: (options) => watchJob(hub, options),
    watchJobs: (options) => watchJobs(hub, options),
    watchAudit: (options) => watchAudit(hub, options),
    watchState(options) {
      const stream = watchState(options, { wakeup, onLeave: () => states.delete(stream) })
      states.add(stream)
      return stream
    },
    openStreams: () => members.size - sources + streams.size + states.size,
    lagSeconds: () => (feed === undefined ? 0 : Math.max(0, feed.lookedMsAgo() - pollMs) / 1_000),
    openGaps: () => (feed?.isReady() === true ? missing(feed.window().position()) : 0),
  }
}
