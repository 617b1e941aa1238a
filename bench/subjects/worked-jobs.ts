import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import type { Given } from '../given.ts'
import { withClient } from '../measure.ts'

// What handlers that do something do, for all subjects alike.

/** So long a handler waits for somebody else. */
const ioMs = 20

/** One row a job. */
export const rowTable = 'create table bench_row (job_number int not null, at timestamptz not null default now())'

export type Work = 'wait' | 'row'

export const workOf = ({ options }: Given): Work => (options.work === 'row' ? 'row' : 'wait')

/** Counts starts; the waiting itself. */
export function createWork(jobs: number): {
  readonly all: Promise<void>
  run(i: number): Promise<void>
  readonly onFirst: (told: () => void) => void
} {
  const seen = new Uint8Array(jobs)
  const all = Promise.withResolvers<void>()
  let started = 0
  let first = (): void => {}
  return {
    all: all.promise,
    onFirst: (told) => (first = told),
    async run(i) {
      if (started === 0) first()
      started += 1
      seen[i]! += 1
      if (started === jobs) {
        if (!seen.every((times) => times === 1)) all.reject(new Error('Not each job was run exactly once.'))
        all.resolve()
      }
    },
  }
}

export const waitForIo = (): Promise<void> => wait(ioMs)

/** A handler's own connections. */
export function ownPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 8 })
  pool.on('error', (error) => console.error(error))
  return pool
}

export async function checkRows({ url, jobs, options }: Given): Promise<void> {
  if (options.work !== 'row') return
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ rows: number; jobs: number }>(
      'select count(*)::int as rows, count(distinct job_number)::int as jobs from bench_row',
    )
    if (rows[0]!.jobs !== jobs) throw new Error(`Rows are missing: ${JSON.stringify(rows[0])}`)
  })
}
