import type { JobUpdate } from './job-update.ts'

/** Gathers updates for one message: at most 100, in order; conflated, of each job only the last. */
export interface JobBatch {
  add(update: JobUpdate): void
  size(): number
  /** Whether so many more fit. */
  fits(count: number): boolean
  updates(): JobUpdate[]
}

const mostUpdates = 100

export function createJobBatch(conflate: boolean): JobBatch {
  const updates = new Map<string | number, JobUpdate>()
  let added = 0
  return {
    add(update) {
      const key = conflate ? update.jobId : added
      // Deleted first, so that it stands where the last change came.
      updates.delete(key)
      updates.set(key, update)
      added += 1
    },
    size: () => updates.size,
    fits: (count) => updates.size + count <= mostUpdates,
    updates: () => [...updates.values()],
  }
}
