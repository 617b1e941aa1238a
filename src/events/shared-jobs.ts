import type { Hub } from './hub.ts'
import type { JobUpdateBatch } from './job-update.ts'
import type { JobsSelection, SharedJobs, SharedReader } from './jobs-selection.ts'
import { createJobsSource } from './jobs-source.ts'

const mostUpdates = 5_000
const mostBatches = 500

/** Begins with now. Told `onEmpty` when the last reader has left. */
export function createSharedJobs(hub: Hub, selection: JobsSelection, onEmpty: () => void): SharedJobs {
  const readers = new Set<SharedReader>()
  let batches: JobUpdateBatch[] = []
  let first = 0
  let kept = 0
  let count = 0

  const push = (batch: JobUpdateBatch): void => {
    batches.push(batch)
    kept += batch.updates.length
    count += batch.updates.length
    let gone = 0
    while (batches.length - gone > 1 && (kept > mostUpdates || batches.length - gone > mostBatches)) {
      kept -= batches[gone]!.updates.length
      gone += 1
    }
    if (gone > 0) batches = batches.slice(gone)
    first += gone
    for (const reader of readers) reader.news()
  }

  const endAll = (): void => {
    for (const reader of [...readers]) reader.end()
  }
  const source = createJobsSource(hub, selection, null, { onEnd: endAll, onBatch: push })
  const run = async (): Promise<void> => {
    while ((await source.pull()) !== undefined);
  }
  run().catch(endAll)

  return {
    first: () => first,
    next: () => first + batches.length,
    at: (number) => batches[number - first],
    count: () => count,
    isAtRest: source.isAtRest,
    enter: (reader) => void readers.add(reader),
    leave(reader) {
      if (!readers.delete(reader) || readers.size > 0) return
      source.release()
      onEmpty()
    },
  }
}
