import type { JobStreamFilter } from '../jobs/job-stream-filter.ts'
import type { JobUpdateBatch } from './job-update.ts'
import type { Crowd, Hearer } from './stream.ts'

/** What a stream of many jobs tells of, and how. */
export interface JobsSelection {
  readonly filter: JobStreamFilter
  /** How long changes are gathered, 0 to 5,000. */
  readonly windowMs: number
  /** Of several changes of one job in a batch only the last. */
  readonly conflate: boolean
  /** Progress too, at most once a second a job. */
  readonly progress: boolean
  /** Whether the reader may see this tenant's jobs: asked for each message. */
  readonly sees: (tenantId: string) => boolean
}

/** One reading for all streams of many jobs that are alike: each batch is made once, and the same object for all. */
export interface SharedJobs {
  /** Number of the oldest batch that is kept, and of the next one to come. */
  first(): number
  next(): number
  /** The batch of that number; undefined: gone, or not there yet. */
  at(number: number): JobUpdateBatch | undefined
  /** Number of the batch behind the one with that cursor, where it is kept; undefined: it is not. */
  placeAfter(cursor: string): number | undefined
  /** How many updates there were in all batches so far. */
  count(): number
  /** Everything that is in the window was told with the batches up to `next`. */
  isAtRest(): boolean
  enter(reader: SharedReader): void
  leave(reader: SharedReader): void
  /** Instead of `news` this hearer of the reader's is told, together with its crowd, until `heard`. */
  tellCrowd(reader: SharedReader, hearer: Hearer<JobUpdateBatch>, crowd: Crowd<JobUpdateBatch>): void
}

export interface SharedReader {
  /** This is the next batch. */
  news(batch: JobUpdateBatch): void
  /** Its hearer was told all batches before that number, and this is the cursor of the last one; null: there was none. */
  heard(next: number, cursor: string | null): void
  /** The relay stops, or the reading failed. */
  end(): void
}
