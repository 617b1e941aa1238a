import type { JobEvent } from '../jobs/job-event.ts'
import { claimName } from './stream-cursor.ts'

/** Which running claims a reader was told of: a claim has no id in the journal, so no position says it. */
export interface ToldClaims {
  isNews(jobId: string, revision: number): boolean
  tell(jobId: string, revision: number): void
  /** The job does not run any more. */
  end(jobId: string): void
  /** Forgets those that have long been told and do not run: their ends were none of this reader's business. */
  forgetOld(running: ReadonlyMap<string, JobEvent>): void
  /** As the cursor names them, the newest last. */
  names(): ReadonlySet<string>
  clear(): void
}

interface ToldClaim {
  readonly name: string
  /** When, by the process' clock. */
  readonly at: number
}

const most = 10_000
/** The cursor may come from an instance that was ahead: a claim that this one does not know of may still be running. */
const oldAfterMs = 60_000

export function createToldClaims(names: ReadonlySet<string>): ToldClaims {
  // By job, so that the end of a run finds its claim.
  const told = new Map<string, ToldClaim>()
  const put = (name: string): void => {
    // Deleted first, so that the oldest stands first.
    told.delete(jobPart(name))
    told.set(jobPart(name), { name, at: performance.now() })
    if (told.size > most) told.delete(told.keys().next().value!)
  }
  for (const name of names) put(name)
  return {
    isNews(jobId, revision) {
      const name = claimName(jobId, revision)
      return told.get(jobPart(name))?.name !== name
    },
    tell: (jobId, revision) => put(claimName(jobId, revision)),
    end: (jobId) => void told.delete(jobPart(claimName(jobId, 0))),
    forgetOld(running) {
      const before = performance.now() - oldAfterMs
      const old = told
        .values()
        .take(1)
        .find(({ at }) => at < before)
      if (old === undefined) return
      const still = new Set(running.values().map(({ jobId, revision }) => claimName(jobId, revision)))
      for (const { name, at } of [...told.values()]) if (at < before && !still.has(name)) told.delete(jobPart(name))
    },
    names: () => new Set(told.values().map(({ name }) => name)),
    clear: () => told.clear(),
  }
}

const jobPart = (name: string): string => name.slice(0, 8)
