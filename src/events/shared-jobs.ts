import type { Hub } from './hub.ts'
import type { JobUpdateBatch } from './job-update.ts'
import type { JobsSelection, SharedJobs, SharedReader } from './jobs-selection.ts'
import { createJobsSource } from './jobs-source.ts'
import type { Crowd, Hearer } from './stream.ts'

const mostUpdates = 5_000
const mostBatches = 500

/** Begins with now. Told `onEmpty` when the last reader has left. */
export function createSharedJobs(hub: Hub, selection: JobsSelection, onEmpty: () => void): SharedJobs {
  const readers = new Set<SharedReader>()
  /** Those of them that are told of each batch by themselves. */
  const alone = new Set<SharedReader>()
  /** And the others, by the name of their crowd. */
  const crowds = new Map<string, Listeners>()
  const placeOf = new Map<SharedReader, { readonly listeners: Listeners; readonly hearer: Hearer<JobUpdateBatch> }>()
  let batches: JobUpdateBatch[] = []
  let first = 0
  let kept = 0
  let count = 0
  let lastCursor: string | null = null

  /**
   * Who comes back with the cursor of a batch goes on behind it: behind the first of those that have it, as progress does not move it. A
   * cursor that was shortened says less than was told.
   */
  const numbers = new Map<string, number>()

  const push = (batch: JobUpdateBatch, isExact: boolean): void => {
    if (isExact && !numbers.has(batch.cursor)) numbers.set(batch.cursor, first + batches.length)
    batches.push(batch)
    kept += batch.updates.length
    count += batch.updates.length
    let gone = 0
    while (batches.length - gone > 1 && (kept > mostUpdates || batches.length - gone > mostBatches)) {
      const oldest = batches[gone]!
      kept -= oldest.updates.length
      if (numbers.get(oldest.cursor) === first + gone) numbers.delete(oldest.cursor)
      gone += 1
    }
    if (gone > 0) batches = batches.slice(gone)
    first += gone
    for (const reader of alone) reader.news(batch)
    for (const crowd of crowds.values()) tellAll(crowd, batch)
    lastCursor = batch.cursor
  }

  const tellAll = ({ crowd, readerOf }: Listeners, batch: JobUpdateBatch): void => {
    const next = first + batches.length
    crowd.hear(batch, readerOf.keys(), (hearer, isTaken) => {
      const reader = readerOf.get(hearer)
      if (reader === undefined) return
      leaveCrowd(reader)
      alone.add(reader)
      if (isTaken) reader.heard(next, batch.cursor)
      else reader.heard(next - 1, lastCursor)
    })
  }

  const leaveCrowd = (reader: SharedReader): void => {
    const place = placeOf.get(reader)
    if (place === undefined) return
    placeOf.delete(reader)
    const { crowd, readerOf } = place.listeners
    readerOf.delete(place.hearer)
    if (readerOf.size === 0) crowds.delete(crowd.name)
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
    placeAfter(cursor) {
      const number = numbers.get(cursor)
      return number === undefined ? undefined : number + 1
    },
    count: () => count,
    isAtRest: source.isAtRest,
    enter(reader) {
      readers.add(reader)
      alone.add(reader)
    },
    tellCrowd(reader, hearer, crowd) {
      let listeners = crowds.get(crowd.name)
      if (listeners === undefined) crowds.set(crowd.name, (listeners = { crowd, readerOf: new Map() }))
      listeners.readerOf.set(hearer, reader)
      placeOf.set(reader, { listeners, hearer })
      alone.delete(reader)
    },
    leave(reader) {
      leaveCrowd(reader)
      alone.delete(reader)
      if (!readers.delete(reader) || readers.size > 0) return
      source.release()
      onEmpty()
    },
  }
}

/** A crowd, and whose hearers are in it. */
interface Listeners {
  readonly crowd: Crowd<JobUpdateBatch>
  readonly readerOf: Map<Hearer<JobUpdateBatch>, SharedReader>
}
