import type { JobEvent } from '../jobs/job-event.ts'
import { claimName } from './stream-cursor.ts'

/** Which running claims a reader was told of: a claim has no id in the journal, so no position says it. */
export interface ToldClaims {
  isNews(jobId: string, revision: number): boolean
  tell(jobId: string, revision: number): void
  /** The job does not run any more. */
  end(jobId: string): void
  /** Those that still run, as the cursor names them. */
  names(running: ReadonlyMap<string, JobEvent>): ReadonlySet<string>
  clear(): void
}

const most = 10_000

export function createToldClaims(names: ReadonlySet<string>): ToldClaims {
  // By job, so that the end of a run finds its claim.
  const told = new Map([...names].map((name) => [jobPart(name), name]))
  return {
    isNews(jobId, revision) {
      const name = claimName(jobId, revision)
      return told.get(jobPart(name)) !== name
    },
    tell(jobId, revision) {
      const name = claimName(jobId, revision)
      // Deleted first, so that the oldest stands first.
      told.delete(jobPart(name))
      told.set(jobPart(name), name)
      if (told.size > most) told.delete(told.keys().next().value!)
    },
    end(jobId) {
      told.delete(jobPart(claimName(jobId, 0)))
    },
    names(running) {
      const still = new Set<string>()
      for (const { jobId, revision } of running.values()) {
        const name = claimName(jobId, revision)
        if (told.get(jobPart(name)) === name) still.add(name)
      }
      return still
    },
    clear: () => told.clear(),
  }
}

const jobPart = (name: string): string => name.slice(0, 8)
