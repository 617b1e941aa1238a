import type { Pool } from 'pg'
import { deleteDoneJobs } from '../../sql/delete-done-jobs.ts'
import { dropJournalPartitions } from '../../sql/drop-journal-partitions.ts'
import { ensureJournalPartitions } from '../../sql/ensure-journal-partitions.ts'
import { pruneBulkOperations } from '../../sql/prune-bulk-operations.ts'
import { pruneStatistics } from '../../sql/prune-statistics.ts'
import { readKinds } from '../../sql/read-kinds.ts'
import type { Maintenance } from '../maintenance.ts'
import { alongKey } from './along-key.ts'
import type { CleanupStep } from './cleanup-jobs.ts'

interface CleanupStepsDeps {
  readonly pool: Pool
  /** The same sweep that every instance tries every few seconds. */
  readonly maintenance: Pick<Maintenance, 'runOnce' | 'recoverLost'>
  readonly retentionMs: number
  readonly journalMonths: number
}

const batch = 1_000
/** 2.6 us of the server a job (measured with 2,500) in place of 2.9 by the thousand, and still a transaction of some 10 ms. */
const jobsAtOnce = 2_000
/** A job that ends later after its birth is deleted by the next walk over all of them. */
const endsWithinMs = 60 * 60 * 1_000
const walkEveryMs = 24 * 60 * 60 * 1_000
const firstId = '00000000-0000-0000-0000-000000000000'
const journalMonthsAhead = 3
const statisticsDays = 90
const scanEveryMs = 60 * 60 * 1_000

/** What the engine itself leaves to tidy: stale claims, retention of jobs, old statistics, the journal's months. */
export function cleanupSteps({ pool, maintenance, retentionMs, journalMonths }: CleanupStepsDeps): CleanupStep[] {
  let scannedAt = -Infinity
  let walkedAt = -Infinity
  /** Where the walk over all jobs goes on; null: it is at its end. */
  let place: string | null = null

  const deleteJobs = (after: string, signal: AbortSignal, youngerThanMs: number | null, olderThanMs: number | null) =>
    alongKey(after, signal, (id) => deleteDoneJobs(pool, retentionMs, id, jobsAtOnce, youngerThanMs, olderThanMs))

  return [
    {
      name: 'stale claims',
      async run() {
        let recovered = (await maintenance.runOnce())?.length ?? 0
        if (performance.now() - scannedAt > scanEveryMs) {
          const lost = await maintenance.recoverLost()
          if (lost !== null) scannedAt = performance.now()
          recovered += lost?.length ?? 0
        }
        return { recovered }
      },
    },
    {
      name: 'done jobs',
      async run({ signal }) {
        let deleted = 0
        // Each tick looks at what has just come to the time of some kind. A look at all that some kinds keep for longer is 1 us a job: a minute
        // of a core each tick where there are two million jobs a day.
        const kinds = await readKinds(pool, null)
        const times = new Set(kinds.map((kind) => kind.retentionMs ?? retentionMs))
        for (const ms of times) deleted += (await deleteJobs(firstId, signal, ms + endsWithinMs, ms)).deleted
        // The rest, once a day: what ended late, was held, has an id of its own. A tick that is over leaves its place to the next one.
        if (place === null && performance.now() - walkedAt > walkEveryMs) {
          walkedAt = performance.now()
          place = firstId
        }
        if (place !== null) {
          const walk = await deleteJobs(place, signal, null, null)
          deleted += walk.deleted
          place = walk.place
        }
        return { deleted }
      },
    },
    {
      name: 'statistics',
      async run({ signal }) {
        for (let pruned = batch; pruned === batch && !signal.aborted;) {
          const [row] = await pruneStatistics(pool, statisticsDays, batch)
          pruned = row!.deleted
        }
        await pruneBulkOperations(pool, journalMonths, batch)
        return {}
      },
    },
    {
      name: 'journal',
      async run() {
        await ensureJournalPartitions(pool, journalMonthsAhead)
        const dropped = await dropJournalPartitions(pool, journalMonths)
        return { droppedMonths: dropped.map((row) => row.name) }
      },
    },
  ]
}
