import { setTimeout as wait } from 'node:timers/promises'
import type { JobRow } from '../sql/job-row.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { readProgress } from '../sql/read-progress.ts'
import type { Queryable } from '../sql/statement.ts'
import { createBell } from './bell.ts'
import { isNewerReport, knownReport, withHint, type KnownReport, type ProgressHint } from './progress-hint.ts'

interface BoardDeps {
  readonly db: Queryable
  readonly onError: (error: Error) => void
  /** The jobs whose progress somebody wants; only those that run count. */
  readonly wanted: () => ReadonlySet<string>
  /** Revision of the claim under which the job runs, as far as it was told; undefined: it was not told, or its end was. */
  readonly claimOf: (jobId: string) => number | undefined
  readonly tell: (job: JobRow) => void
}

/**
 * Progress is not in the journal. A hint tells of a report before it is on the row; of each job the latest is told with the next look. Where
 * no hint came, the rows are looked at once a second.
 */
export interface ProgressBoard {
  hint(hint: ProgressHint): void
  stop(): void
}

const everyMs = 1_000
/** Hints that come close together are one look. */
const leastPauseMs = 20
const mostHints = 10_000
/** A report may come before the claim was told; the looks for it end after this time, then the row tells it. */
const waitsForClaimMs = 2_000

export function startProgressBoard({ db, onError, wanted, claimOf, tell }: BoardDeps): ProgressBoard {
  const bell = createBell()
  const known = new Map<string, KnownReport>()
  let hints = new Map<string, Hinted>()
  let stopped = false
  let pollAt = 0

  const put = (hinted: Hinted): void => {
    const { jobId, claimedMs, report } = hinted.hint
    const other = hints.get(jobId)?.hint
    if (
      other !== undefined &&
      (other.claimedMs > claimedMs || (other.claimedMs === claimedMs && other.report > report))
    )
      return
    // Deleted first, so that the oldest stands first.
    hints.delete(jobId)
    hints.set(jobId, hinted)
    if (hints.size > mostHints) hints.delete(hints.keys().next().value!)
  }

  const look = async (): Promise<void> => {
    const ids = wanted()
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    const taken = new Map([...hints].filter(([id, { isEarly }]) => ids.has(id) || isEarly()))
    hints = new Map()
    const changed = new Set(taken.keys())
    if (performance.now() >= pollAt) {
      pollAt = performance.now() + everyMs
      if (ids.size > 0)
        for (const { id, progress } of await readProgress(db, [...ids]))
          if (known.get(id)?.text !== JSON.stringify(progress)) changed.add(id)
    }
    if (changed.size === 0) return
    for (const row of await readJobs(db, [...changed], null)) {
      const hinted = taken.get(row.id)
      // Its claim is told first, and nothing of it after its end.
      if (row.status !== 'running' || claimOf(row.id) !== row.claimRevision) {
        if (hinted?.isEarly() === true) put(hinted)
        continue
      }
      const job = hinted === undefined ? row : withHint(row, hinted.hint)
      if (stopped || !isNewerReport(known.get(job.id), job)) continue
      known.set(job.id, knownReport(job))
      tell(job)
    }
  }

  const run = async (): Promise<void> => {
    while (!stopped) {
      await look().catch(onError)
      if (stopped) return
      await wait(leastPauseMs, undefined, { ref: false })
      if (!stopped && hints.size === 0) await bell.wait(Math.max(0, pollAt - performance.now()))
    }
  }
  void run()

  return {
    hint(hint) {
      const until = performance.now() + waitsForClaimMs
      put({ hint, isEarly: () => performance.now() < until })
      bell.ring()
    },
    stop() {
      stopped = true
      bell.ring()
    },
  }
}

interface Hinted {
  readonly hint: ProgressHint
  /** It came a moment ago: the claim may still be on its way. */
  readonly isEarly: () => boolean
}
