import { createBell } from './bell.ts'
import type { Hub } from './hub.ts'
import type { JobUpdateBatch } from './job-update.ts'
import type { JobsSelection, SharedJobs } from './jobs-selection.ts'
import { createJobsSource, type JobsSource } from './jobs-source.ts'
import { readJobsCursor, type JobsCursor } from './stream-cursor.ts'
import { createStream, type Hearer, type Stream } from './stream.ts'

export interface WatchJobs extends JobsSelection {
  /** Resume after this cursor. Null: from now on. */
  readonly after: string | null
  /** What the reader may see, asked for each message; streams that see and select the same are read once for all. Left out: by itself. */
  readonly scope?: () => ViewScope
}

/** What somebody may see. Never changes: who may see something else has another one. */
export interface ViewScope {
  /** Two that see the same have the same name. */
  readonly name: string
  readonly sees: (tenantId: string) => boolean
}

/** Who does not pull and falls out of what is kept may be so far behind before it has to begin anew. */
const mostMissed = 10_000
const mostIdleMs = 60_000

/**
 * Each stream begins on its own, at its cursor. Once it has told everything up to now it goes on with the reading that all alike share,
 * and leaves that again when it was too slow for it.
 */
export function watchJobs(hub: Hub, { after, scope, ...selection }: WatchJobs): Stream<JobUpdateBatch> {
  const bell = createBell()
  let left = false
  let own: JobsSource | undefined
  /** The last cursor of its own reading says all that was told. */
  let isAtExact = false
  let shared: Shared | undefined
  /** Gathered before it joined the others. */
  let rest: JobUpdateBatch | undefined
  /** Everything up to here was told. */
  let cursor = after
  let pulledAt = performance.now()

  let from: JobsCursor | null
  try {
    from = after === null ? null : readJobsCursor(after)
  } catch (error) {
    return createStream<JobUpdateBatch>({ pull: () => Promise.reject(error as Error), release() {} })
  }

  const onEnd = (): void => void stream.return()
  /** Told everything that the shared reading has: takes each batch as it comes. */
  let hearer: Hearer<JobUpdateBatch> | undefined
  const reader = {
    news(batch: JobUpdateBatch): void {
      if (own !== undefined) return join()
      if (hearer === undefined) return bell.ring()
      const here = shared!
      if (!isOf(here)) return hearNoMore()!.wake()
      here.place += 1
      cursor = batch.cursor
      if (!hearer.hear(batch, false)) hearNoMore()
    },
    heard(next: number, at: string | null): void {
      hearNoMore()
      if (next === shared!.place) return
      shared!.place = next
      cursor = at
    },
    end: onEnd,
  }

  const hearNoMore = (): Hearer<JobUpdateBatch> | undefined => {
    const former = hearer
    if (former === undefined) return undefined
    hearer = undefined
    shared!.countAt = shared!.jobs.count()
    pulledAt = performance.now()
    return former
  }

  const attend = (seen: ViewScope): Shared => {
    const { name, sees } = seen
    const { filter, windowMs, conflate, progress } = selection
    const jobs = hub.share(JSON.stringify([name, windowMs, conflate, progress, filter]), { ...selection, sees })
    jobs.enter(reader)
    return { scope: seen, jobs, place: jobs.next(), countAt: jobs.count() }
  }

  /** From its own reading to the shared one, where both have told the same. */
  const join = (): void => {
    if (own === undefined || shared === undefined || !shared.jobs.isAtRest()) return
    const gathered = own.stopHere()
    if (gathered === null) return
    own = undefined
    if (gathered !== 'nothing') rest = gathered
    shared.place = shared.jobs.next()
    shared.countAt = shared.jobs.count()
  }

  const goAlone = (start: JobsCursor | null): void => {
    own = createJobsSource(hub, selection, start, {
      onEnd,
      onRest: join,
      onBatch: (_, isExact) => (isAtExact = isExact),
    })
  }

  /** The same where it stands at a batch that is still at hand: who comes back while much happens need not wait for peace. */
  const joinAfter = (at: string): boolean => {
    const place = shared?.jobs.placeAfter(at)
    if (place === undefined) return false
    own?.release()
    own = undefined
    shared!.place = place
    return true
  }

  const begin = (): void => {
    const seen = scope?.()
    if (seen !== undefined) shared = attend(seen)
    if (shared === undefined || (after !== null && !joinAfter(after))) goAlone(from)
  }

  /** Whether the reader still sees what the shared reading tells of. */
  const isOf = ({ scope: of }: Shared): boolean => {
    const seen = scope!()
    return seen === of || seen.name === of.name
  }

  /** The next batch of the shared reading; undefined: none is there, or it is not for this reader any more. */
  const takeShared = (): JobUpdateBatch | undefined => {
    if (own !== undefined || shared === undefined || !isOf(shared)) return undefined
    const batch = shared.jobs.at(shared.place)
    if (batch === undefined) return undefined
    shared.place += 1
    shared.countAt = shared.jobs.count()
    cursor = batch.cursor
    return batch
  }

  /** Its place in the shared reading is gone, or what it may see has changed. */
  const fallBack = (
    { jobs, scope: of, countAt }: Shared,
    isSame: boolean,
    idleMs: number,
  ): JobUpdateBatch | undefined => {
    if (!isSame) {
      shared = attend(scope!())
      jobs.leave(reader)
    } else if (jobs.count() - countAt > mostMissed || idleMs > mostIdleMs || cursor === null) {
      cursor = jobs.at(jobs.next() - 1)!.cursor
      shared = { scope: of, jobs, place: jobs.next(), countAt: jobs.count() }
      return { cursor, updates: [], resync: true }
    }
    goAlone(cursor === null ? null : readJobsCursor(cursor))
    return undefined
  }

  const takeRest = (): JobUpdateBatch | undefined => {
    const batch = rest
    rest = undefined
    if (batch !== undefined) cursor = batch.cursor
    return batch
  }

  const pull = async (idleMs: number): Promise<JobUpdateBatch | undefined> => {
    while (!left) {
      const mine = await own?.pull()
      const batch = mine ?? takeRest() ?? takeShared()
      if (left) return undefined
      if (batch !== undefined) {
        if (mine !== undefined && isAtExact) joinAfter(batch.cursor)
        cursor = batch.cursor
        return batch
      }
      if (shared === undefined) return undefined
      const isSame = isOf(shared)
      if (!isSame || shared.place < shared.jobs.first()) {
        const resync = fallBack(shared, isSame, idleMs)
        if (resync !== undefined) return resync
      } else await bell.wait(longestWaitMs)
    }
    return undefined
  }

  const stream: Stream<JobUpdateBatch> = createStream({
    async pull() {
      try {
        return await pull(performance.now() - pulledAt)
      } finally {
        pulledAt = performance.now()
      }
    },
    poll: () => (rest === undefined && hearer?.crowd === undefined ? takeShared() : undefined),
    listen(by) {
      if (own !== undefined || rest !== undefined || shared === undefined || shared.place < shared.jobs.next())
        return false
      if (!isOf(shared)) return false
      hearer = by
      if (by.crowd !== undefined) shared.jobs.tellCrowd(reader, by, by.crowd)
      return true
    },
    release() {
      left = true
      closed()
      own?.release()
      shared?.jobs.leave(reader)
      bell.ring()
      hearNoMore()?.wake()
    },
  })
  const closed = hub.opened(stream)
  begin()
  return stream
}

interface Shared {
  readonly scope: ViewScope
  readonly jobs: SharedJobs
  /** Number of the batch that comes next for it. */
  place: number
  countAt: number
}

/** Timers never go beyond 2^31 - 1 ms. */
const longestWaitMs = 3_600_000
