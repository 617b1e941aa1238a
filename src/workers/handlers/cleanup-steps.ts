import type { Pool } from 'pg'
import { deleteDoneJobs } from '../../sql/delete-done-jobs.ts'
import { dropJournalPartitions } from '../../sql/drop-journal-partitions.ts'
import { ensureJournalPartitions } from '../../sql/ensure-journal-partitions.ts'
import { pruneBulkOperations } from '../../sql/prune-bulk-operations.ts'
import { pruneStatistics } from '../../sql/prune-statistics.ts'
import { recoverLostClaims } from '../../sql/recover-lost-claims.ts'
import type { Maintenance } from '../maintenance.ts'
import type { CleanupStep } from './cleanup-jobs.ts'

interface CleanupStepsDeps {
  readonly pool: Pool
  /** The same sweep that every instance tries every few seconds. */
  readonly maintenance: Pick<Maintenance, 'runOnce'>
  readonly retentionMs: number
  readonly journalMonths: number
}

const batch = 1_000
const firstId = '00000000-0000-0000-0000-000000000000'
const journalMonthsAhead = 3
const statisticsDays = 90
const scanEveryMs = 60 * 60 * 1_000

/** What the engine itself leaves to tidy: stale claims, retention of jobs, old statistics, the journal's months. */
export function cleanupSteps({ pool, maintenance, retentionMs, journalMonths }: CleanupStepsDeps): CleanupStep[] {
  let scannedAt = -Infinity

  return [
    {
      name: 'stale claims',
      async run() {
        const recovered = (await maintenance.runOnce())?.length ?? 0
        if (performance.now() - scannedAt > scanEveryMs) {
          scannedAt = performance.now()
          await recoverLostClaims(pool, batch)
        }
        return { recovered }
      },
    },
    {
      name: 'done jobs',
      async run({ signal }) {
        let deleted = 0
        for (let after: string | null = firstId; after !== null && !signal.aborted;) {
          const [row] = await deleteDoneJobs(pool, retentionMs, after, batch)
          deleted += row!.deleted
          after = row!.lastId
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
