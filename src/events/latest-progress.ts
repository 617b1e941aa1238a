import type { JobRow } from '../sql/job-row.ts'
import { isNewerReport, knownReport, type KnownReport } from './progress-hint.ts'

/** Progress reports on their way to one reader: of each job only the latest, and no more often than it asked for. */
export interface LatestProgress {
  report(job: JobRow): void
  /** Whether this report was not told yet. */
  isNews(job: JobRow): boolean
  told(job: JobRow): void
  /** The reports to be told now. */
  due(): JobRow[]
  /** Milliseconds until the next one is due; Infinity: none is waiting. */
  nextDueMs(): number
  /** The run is over. */
  end(jobId: string): void
}

interface Told extends KnownReport {
  /** When, by the process' clock. */
  readonly toldAt: number
}

export function createLatestProgress(everyMs: number): LatestProgress {
  const waiting = new Map<string, JobRow>()
  const told = new Map<string, Told>()
  const dueAt = (jobId: string): number => (told.get(jobId)?.toldAt ?? -Infinity) + everyMs
  const isNews = (job: JobRow): boolean => isNewerReport(told.get(job.id), job)
  return {
    report(job) {
      if (isNews(job)) waiting.set(job.id, job)
    },
    isNews,
    told(job) {
      told.set(job.id, { ...knownReport(job), toldAt: performance.now() })
      // What waits may be newer than what is on the row.
      const next = waiting.get(job.id)
      if (next !== undefined && !isNews(next)) waiting.delete(job.id)
    },
    due() {
      const now = performance.now()
      return [...waiting.values()].filter((job) => dueAt(job.id) <= now)
    },
    nextDueMs() {
      let next = Infinity
      for (const jobId of waiting.keys()) next = Math.min(next, dueAt(jobId))
      return next === Infinity ? Infinity : Math.max(0, next - performance.now())
    },
    end(jobId) {
      waiting.delete(jobId)
      told.delete(jobId)
    },
  }
}
