import type { JobStatus } from '../jobs/lifecycle.ts'
import type { JobRow } from '../sql/job-row.ts'
import { createBell } from './bell.ts'
import type { CrowdPlace, Hub, Member } from './hub.ts'
import { readJobHistory } from './job-history.ts'
import { sameUpdate, type JobUpdate } from './job-update.ts'
import type { Told } from './journal-window.ts'
import { createLatestProgress } from './latest-progress.ts'
import { patiently } from './patiently.ts'
import { jobCursorOf, readJobCursor } from './stream-cursor.ts'
import { StreamError } from './stream-error.ts'
import { createStream, type Hearer, type Stream } from './stream.ts'

export interface WatchJob {
  readonly jobId: string
  /** Resume after this cursor instead of starting with a SNAPSHOT. */
  readonly after: string | null
  /** The stream ends by itself in one of these. Empty: never. */
  readonly completeOn: readonly JobStatus[]
  /** Least time between progress messages; null: none. */
  readonly progressEveryMs: number | null
  /** Whether the reader may see this tenant's jobs: asked for each message. */
  readonly sees: (tenantId: string) => boolean
}

/** More than this are not kept for a reader that does not pull: it reads them from the journal when it comes. */
const mostWaiting = 500
/** And with more than this, or after so long, it begins anew. */
const mostMissed = 10_000
const mostIdleMs = 60_000
/** Timers never go beyond 2^31 - 1 ms. */
const longestWaitMs = 3_600_000

export function watchJob(hub: Hub, options: WatchJob): Stream<JobUpdate> {
  const { jobId, completeOn, sees } = options
  const bell = createBell()
  const progress = createLatestProgress(options.progressEveryMs ?? Infinity)
  /** Read from the journal; comes before what was told. */
  let past: readonly Told[] = []
  let told: Told[] = []
  /** The journal has something that is not in `told`. */
  let hasMissed = false
  let missed = 0
  let pulledAt = performance.now()
  /** Everything up to this revision was told. */
  let revision = -1
  let isOpen = false
  let isOver = false
  let left = false
  const isLeft = (): boolean => left

  /** Was told everything: takes each event as it comes. */
  let hearer: Hearer<JobUpdate> | undefined
  /** Where it takes them together with others. */
  let place: CrowdPlace | undefined
  /** Whose job it is, once something was told. */
  let tenantId: string | undefined

  /** Has `next` look again. */
  const ask = (): void => {
    bell.ring()
    hearNoMore()?.wake()
  }

  const hearNoMore = (): Hearer<JobUpdate> | undefined => {
    const former = hearer
    hearer = undefined
    if (former === undefined) return undefined
    leaveCrowd()
    pulledAt = performance.now()
    return former
  }

  const leaveCrowd = (): void => {
    if (place !== undefined) revision = place.leave()
    place = undefined
  }

  /** Of what was told the first; the rest is asked for in the same breath. */
  const hearNext = (): void => {
    const update = takeTold()
    if (update === undefined) return ask()
    if (!hearer!.hear(update, told.length > 0)) hearNoMore()
    else if (isOver || hasMissed || told.length > 0) ask()
    else joinCrowd(hearer!)
  }

  const member: Member = {
    jobId,
    wants: (event) => event.jobId === jobId,
    news(events) {
      leaveCrowd()
      missed += events.length
      told.push(...events)
      if (told.length > mostWaiting) {
        hasMissed = true
        told = []
      }
      if (hearer === undefined) bell.ring()
      else hearNext()
    },
    heard(upTo) {
      place = undefined
      revision = upTo
      hearNoMore()
    },
    wantsProgress: options.progressEveryMs !== null,
    tellProgress(job) {
      progress.report(job)
      ask()
    },
    missing() {
      hasMissed = true
      ask()
    },
    end: () => void stream.return(),
  }
  const feed = hub.enter(member)

  const open = async (): Promise<JobUpdate | undefined> => {
    const after = options.after === null ? null : readJobCursor(options.after, jobId)
    // The feed is there first, then the state is read: what changes in between is told.
    await feed.ready
    const job = await readJob()
    if (job !== null && !sees(job.tenantId)) throw notFound(jobId)
    if (after === null) {
      if (job === null && !left) throw notFound(jobId)
      return stateOf('SNAPSHOT', job)
    }
    revision = after
    if (job !== null && job.revision < after) return stateOf('RESYNC', job)
    return readHistory(job === null)
  }

  const readJob = async (): Promise<JobRow | null> => (left ? null : patiently(() => hub.readJob(jobId), isLeft))

  /** Fills `past`, or answers that the journal does not go back so far. */
  const readHistory = async (mayBeUnknown: boolean): Promise<JobUpdate | undefined> => {
    hasMissed = false
    const history = await patiently(() => readJobHistory(hub.db, jobId, revision), isLeft)
    const [first] = history.told
    if (mayBeUnknown && (first === undefined || !sees(first.event.tenantId))) throw notFound(jobId)
    if (!history.isWhole || (first === undefined && history.job === null)) return stateOf('RESYNC', history.job)
    past = history.told
    hasMissed ||= history.more
    if (first === undefined && completeOn.includes(history.job!.status)) isOver = true
    return undefined
  }

  const stateOf = (type: 'SNAPSHOT' | 'RESYNC', job: JobRow | null): JobUpdate => {
    revision = job?.revision ?? revision
    isOver = job === null || completeOn.includes(job.status)
    past = []
    if (job !== null) progress.told(job)
    return update(type, job, null)
  }

  const update = (type: JobUpdate['type'], job: JobRow | null, told: Told | null): JobUpdate => {
    tenantId = job?.tenantId ?? told?.event.tenantId ?? tenantId
    if (tenantId !== undefined && !sees(tenantId)) throw notFound(jobId)
    return updateOf(type, revision, job, told)
  }

  const updateOf = (type: JobUpdate['type'], at: number, job: JobRow | null, told: Told | null): JobUpdate =>
    sameUpdate(told ?? job, type, at, () => ({
      type,
      cursor: jobCursorOf(jobId, at),
      jobId,
      job,
      event: told?.event ?? null,
      matchesFilter: true,
    }))

  /** Nothing ends with it, neither the stream nor a run whose last report has to go first. */
  const plainUpdate = (told: Told): JobUpdate | undefined => {
    const { fromStatus, toStatus, revision: at } = told.event
    const endsRun = fromStatus === 'running' && toStatus !== 'running'
    if (toStatus === null || completeOn.includes(toStatus) || (endsRun && member.wantsProgress)) return undefined
    return updateOf('EVENT', at, told.job, told)
  }

  const joinCrowd = (by: Hearer<JobUpdate>): void => {
    // A job keeps its tenant: who sees it now does as long as its rights are the same, which is what a crowd looks at.
    if (by.crowd === undefined || tenantId === undefined || !sees(tenantId)) return
    const name = `${member.wantsProgress} ${completeOn.join()}`
    place = hub.tellCrowd(member, by, by.crowd, { name, revision, plainUpdate })
  }

  /** The next event, unless there is a hole before it or nothing is left. */
  const nextEvent = (): JobUpdate | undefined => {
    for (;;) {
      const next = past[0] ?? told[0]
      if (next === undefined) return undefined
      const { event, job } = next
      if (event.revision > revision + 1 && past.length === 0) {
        hasMissed = true
        told = []
        return undefined
      }
      if (event.revision > revision && isUntoldEnd(next)) return progressOf(job!)
      if (past.length > 0) past = past.slice(1)
      else told.shift()
      if (event.revision <= revision) continue
      revision = event.revision
      isOver = event.toStatus === null || completeOn.includes(event.toStatus)
      if (event.toStatus !== 'running') progress.end(jobId)
      return update('EVENT', job, next)
    }
  }

  /** The same of what needs neither the journal nor an error to be told. */
  const takeTold = (): JobUpdate | undefined => {
    const next = past[0] ?? told[0]
    if (isOver || next === undefined || !sees(next.event.tenantId)) return undefined
    missed = 0
    return past.length > 0 || !hasMissed ? nextEvent() : undefined
  }

  /** Whether a last report has to go before the end of a run. */
  const isUntoldEnd = ({ event, job }: Told): boolean =>
    member.wantsProgress &&
    event.fromStatus === 'running' &&
    event.toStatus !== 'running' &&
    job !== null &&
    progress.isNews(job)

  const progressOf = (job: JobRow): JobUpdate => {
    progress.told(job)
    return update('PROGRESS', job, null)
  }

  const pull = async (idleMs: number): Promise<JobUpdate | undefined> => {
    if (!isOpen) {
      isOpen = true
      const first = await open()
      if (left || first !== undefined) return first
    }
    for (;;) {
      if (isOver || left) return undefined
      const event = past.length > 0 || !hasMissed ? nextEvent() : undefined
      if (event !== undefined) return event
      if (hasMissed) {
        const isSlow = missed > mostMissed || idleMs > mostIdleMs
        const resync = isSlow ? stateOf('RESYNC', await readJob()) : await readHistory(false)
        if (resync !== undefined) return resync
        continue
      }
      const [due] = progress.due()
      if (due !== undefined) return progressOf(due)
      await bell.wait(Math.min(progress.nextDueMs(), longestWaitMs))
    }
  }

  const stream: Stream<JobUpdate> = createStream({
    async pull() {
      try {
        return await pull(performance.now() - pulledAt)
      } finally {
        pulledAt = performance.now()
        missed = 0
      }
    },
    poll: () => (isOpen ? takeTold() : undefined),
    listen(by) {
      if (!isOpen || isOver || hasMissed || past.length + told.length > 0 || progress.nextDueMs() !== Infinity)
        return false
      hearer = by
      joinCrowd(by)
      return true
    },
    release() {
      left = true
      hub.leave(member)
      ask()
    },
  })
  return stream
}

function notFound(jobId: string): StreamError {
  return new StreamError('NOT_FOUND', `There is no job ${jobId} among your tenants.`)
}
