import type { Connection, OpenStream } from './connection.ts'
import { ClientWatchDocument, type ClientWatchSubscription, type JobStatus } from './generated/graphql.ts'
import { reopen } from './reopen.ts'

/** One message about a job: its state at the start (SNAPSHOT), a transition (EVENT), progress, or RESYNC. */
export type JobUpdate = ClientWatchSubscription['job']

export interface WatchOptions {
  /** A `cursor` or `streamCursor`: go on behind it instead of starting with a SNAPSHOT. */
  readonly after?: string | null
  /** The statuses that end the watch; none: it ends only by `signal`. */
  readonly completeOn?: readonly JobStatus[]
  /** Ends the watch quietly. */
  readonly signal?: AbortSignal
}

/**
 * A job's updates until it reaches one of `completeOn`. A stream that is cut is opened again behind the last update, so that
 * each transition comes exactly once. Throws ClientError where coming back is of no use.
 */
export async function* watch(
  connection: Connection,
  openStream: OpenStream,
  id: string,
  { after = null, completeOn = ['DONE', 'DLQ', 'FAILED'], signal = new AbortController().signal }: WatchOptions = {},
): AsyncGenerator<JobUpdate, void> {
  let cursor = after
  let revision = 0
  const operation = () => ({ query: ClientWatchDocument.toString(), variables: { id, after: cursor, completeOn } })
  for await (const { job: update } of reopen<ClientWatchSubscription>(connection, openStream, operation, signal)) {
    cursor = update.cursor
    // A claim is told from the job while it runs and from the row that ends it: across a reconnect perhaps twice.
    if (update.event != null && update.event.revision <= revision) continue
    revision = update.event?.revision ?? (update.type === 'PROGRESS' ? revision : (update.job?.revision ?? revision))
    yield update
  }
}
