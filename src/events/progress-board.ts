import type { JobRow } from '../sql/job-row.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { readProgress } from '../sql/read-progress.ts'
import type { Queryable } from '../sql/statement.ts'
import { createBell } from './bell.ts'

interface BoardDeps {
  readonly db: Queryable
  readonly onError: (error: Error) => void
  /** The jobs whose progress somebody wants; only those that run count. */
  readonly wanted: () => ReadonlySet<string>
  readonly tell: (job: JobRow) => void
}

/** Progress is not in the journal: it is read from the rows of the jobs that somebody watches, once a second or when told of. */
export interface ProgressBoard {
  /** There is a new report. */
  hint(): void
  stop(): void
}

const everyMs = 1_000
/** Hints that come close together are one read. */
const leastPauseMs = 100

export function startProgressBoard({ db, onError, wanted, tell }: BoardDeps): ProgressBoard {
  const bell = createBell()
  const known = new Map<string, string>()
  let hinted = false
  let stopped = false

  const look = async (): Promise<void> => {
    const ids = wanted()
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
    if (ids.size === 0) return
    const reports = await readProgress(db, [...ids])
    const news = reports.filter(({ id, progress }) => known.get(id) !== JSON.stringify(progress))
    if (news.length === 0) return
    for (const job of await readJobs(
      db,
      news.map(({ id }) => id),
      null,
    )) {
      known.set(job.id, JSON.stringify(job.progress))
      if (!stopped && job.status === 'running') tell(job)
    }
  }

  const run = async (): Promise<void> => {
    while (!stopped) {
      hinted = false
      await look().catch(onError)
      if (!stopped && !hinted) await bell.wait(everyMs)
      if (!stopped && hinted) await createBell().wait(leastPauseMs)
    }
  }
  void run()

  return {
    hint() {
      hinted = true
      bell.ring()
    },
    stop() {
      stopped = true
      bell.ring()
    },
  }
}
