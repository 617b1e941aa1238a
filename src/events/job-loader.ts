import type { JobRow } from '../sql/job-row.ts'
import { readJobs } from '../sql/read-jobs.ts'
import type { Queryable } from '../sql/statement.ts'

/** Reads one job; those asked for at the same time share a statement: after a restart thousands of streams open at once. */
export type JobLoader = (jobId: string) => Promise<JobRow | null>

interface Asked {
  readonly ids: Set<string>
  readonly jobs: Promise<ReadonlyMap<string, JobRow>>
}

const mostIds = 1_000

export function createJobLoader(db: Queryable): JobLoader {
  let open: Asked | undefined

  const ask = (): Asked => {
    const ids = new Set<string>()
    const jobs = new Promise<ReadonlyMap<string, JobRow>>((resolve, reject) => {
      setImmediate(() => {
        if (open?.ids === ids) open = undefined
        readJobs(db, [...ids], null).then((rows) => resolve(new Map(rows.map((job) => [job.id, job]))), reject)
      })
    })
    return { ids, jobs }
  }

  return async (jobId) => {
    if (open === undefined || open.ids.size >= mostIds) open = ask()
    const { ids, jobs } = open
    ids.add(jobId)
    return (await jobs).get(jobId) ?? null
  }
}
