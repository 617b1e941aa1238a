import type { JobEvent } from '../jobs/job-event.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { Queryable } from '../sql/statement.ts'
import type { JobLoader } from './job-loader.ts'
import type { JobUpdate } from './job-update.ts'
import type { JobsSelection, SharedJobs } from './jobs-selection.ts'
import type { JournalFeed } from './journal-feed.ts'
import type { Told } from './journal-window.ts'
import type { Crowd, Hearer } from './stream.ts'

/** What the streams share. */
export interface Hub {
  readonly db: Queryable
  readonly readJob: JobLoader
  /** Takes part from now on: the first member starts the feed, the last one to leave ends it. */
  enter(member: Member): JournalFeed
  leave(member: Member): void
  /** Has a member with one job told together with others that watch it. */
  tellCrowd(member: Member, hearer: Hearer<JobUpdate>, crowd: Crowd<JobUpdate>, standing: Standing): CrowdPlace
  /** The one reading for all streams of that name, made where there is none. */
  share(name: string, selection: JobsSelection): SharedJobs
  /** A stream of many jobs was opened. Answers what notes its end. */
  opened(stream: { return(): Promise<unknown> }): () => void
}

/** One open stream, as the relay sees it. */
export interface Member {
  /** It reads for streams that are counted by themselves. */
  readonly isSource?: boolean
  /** The one job it watches; null: many. */
  readonly jobId: string | null
  /** Whether it may want to hear of this event. */
  wants(event: JobEvent): boolean
  /** This came into the feed's window; of a member with one job, what is about that job. */
  news(told: readonly Told[]): void
  /** Its hearer in a crowd is told no more, and was told everything up to this revision. */
  heard?(revision: number): void
  /** The feed looked at the journal: its position may have moved, whatever that brought. */
  looked?(): void
  readonly wantsProgress: boolean
  tellProgress(job: JobRow): void
  /** The job that it watches has no row any more. */
  missing(): void
  /** The relay stops. */
  end(): void
}

/** What those of a crowd have to have in common. */
export interface Standing {
  /** Two of the same name take the same for plain. */
  readonly name: string
  /** Everything up to here was told. */
  readonly revision: number
  /** The message about it; undefined: it is no plain step, each has to look at it by itself. */
  readonly plainUpdate: (told: Told) => JobUpdate | undefined
}

export interface CrowdPlace {
  /** From now on the member is told by itself. Answers the revision up to which it was told. */
  leave(): number
}
