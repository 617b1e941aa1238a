import type { JobEvent } from '../jobs/job-event.ts'
import type { JobRow } from '../sql/job-row.ts'

/**
 * One message of a job stream. SNAPSHOT: the state at the start; EVENT: one event, none is left out; PROGRESS: a report, the latest always
 * arrives; RESYNC: history is gone or the reader was too slow, this is the present state.
 */
export interface JobUpdate {
  readonly type: 'SNAPSHOT' | 'EVENT' | 'PROGRESS' | 'RESYNC'
  /** Cursor of this one job's stream, also inside a batch. */
  readonly cursor: string
  readonly jobId: string
  /** The job as it was when the event was read, which may be later than the event. Null: it does not exist any more. */
  readonly job: JobRow | null
  /** For EVENT. */
  readonly event: JobEvent | null
  /** False: this change took the job out of the filter. */
  readonly matchesFilter: boolean
}

/** Changes of many jobs, at most 100; `resync`: changes were lost to this reader, fetch the list anew and go on from `cursor`. */
export interface JobUpdateBatch {
  readonly cursor: string
  readonly updates: readonly JobUpdate[]
  readonly resync: boolean
}

const made = new WeakMap<object, Map<string, JobUpdate>>()

/**
 * All who watch one job are told the same: of the same thing one message is made, so that whoever writes it to many can tell that it
 * is the same. `about` is what it tells of; null: it is nobody else's.
 */
export function sameUpdate(
  about: object | null,
  type: JobUpdate['type'],
  revision: number,
  make: () => JobUpdate,
): JobUpdate {
  if (about === null) return make()
  let updates = made.get(about)
  if (updates === undefined) made.set(about, (updates = new Map()))
  const key = `${type} ${revision}`
  let update = updates.get(key)
  if (update === undefined) updates.set(key, (update = make()))
  return update
}
