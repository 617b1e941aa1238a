import type { ObjectStore } from '../objects/object-store.ts'
import { readDueRemovals } from '../sql/read-due-removals.ts'
import { recordRemovals } from '../sql/record-removals.ts'
import type { Queryable } from '../sql/statement.ts'

/** Removes the objects that committed transactions have given up (`mdm.aa_object_removal`). */
export interface ObjectSweep {
  /** Removes what is due, as long as the signal allows; answers how many. */
  run(signal: AbortSignal): Promise<number>
  /** Runs shortly: a transaction that gives objects up is about to commit. */
  soon(): void
  stop(): Promise<void>
}

const batch = 200
const soonMs = 1_000

/** Two sweeps at once remove the same objects twice, which changes nothing. */
export function createObjectSweep(db: Queryable, store: ObjectStore, onError: (error: Error) => void): ObjectSweep {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<unknown> = Promise.resolve()

  const run = async (signal: AbortSignal): Promise<number> => {
    let removed = 0
    for (let more = true; more && !signal.aborted;) {
      const due = await readDueRemovals(db, store.id, batch)
      const gone: string[] = []
      const failures: Error[] = []
      for (const { objectKey } of due) {
        if (signal.aborted) break
        try {
          await store.remove(objectKey)
          gone.push(objectKey)
        } catch (error) {
          failures.push(new Error(`The object ${objectKey} could not be removed.`, { cause: error }))
        }
      }
      if (gone.length > 0) await recordRemovals(db, store.id, gone)
      removed += gone.length
      more = due.length === batch && gone.length > 0
      // One that cannot be removed keeps no other.
      if (!more && failures.length > 0) throw failures[0]!
    }
    return removed
  }

  return {
    run,
    soon() {
      if (timer !== undefined || stopping.signal.aborted) return
      timer = setTimeout(() => {
        timer = undefined
        running = run(stopping.signal).catch(onError)
      }, soonMs)
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
