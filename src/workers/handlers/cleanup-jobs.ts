import type { Pool } from 'pg'
import { deleteDoneJobs } from '../../sql/delete-done-jobs.ts'
import { dropJournalPartitions } from '../../sql/drop-journal-partitions.ts'
import { ensureJournalPartitions } from '../../sql/ensure-journal-partitions.ts'
import { pruneBulkOperations } from '../../sql/prune-bulk-operations.ts'
import { pruneStatistics } from '../../sql/prune-statistics.ts'
import { recoverLostClaims } from '../../sql/recover-lost-claims.ts'
import type { Handler } from '../handler.ts'
import type { Maintenance } from '../maintenance.ts'

interface CleanupDeps {
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

/** Stale claims, retention, old statistics, the journal's months (SPEC section 7). Each step may run twice; what one run leaves the next one finds. */
export function createCleanupJobs({ pool, maintenance, retentionMs, journalMonths }: CleanupDeps): Handler {
  let scannedAt = -Infinity

  return async ({ signal, progress }) => {
    const recovered = (await maintenance.runOnce())?.length ?? 0
    if (performance.now() - scannedAt > scanEveryMs) {
      scannedAt = performance.now()
      await recoverLostClaims(pool, batch)
    }
    let deleted = 0
    for (let after: string | null = firstId; after !== null && !signal.aborted;) {
      const [row] = await deleteDoneJobs(pool, retentionMs, after, batch)
      deleted += row!.deleted
      after = row!.lastId
      await progress({ done: deleted, message: 'done jobs deleted' })
    }
    for (let pruned = batch; pruned === batch && !signal.aborted;) {
      const [row] = await pruneStatistics(pool, statisticsDays, batch)
      pruned = row!.deleted
    }
    await pruneBulkOperations(pool, journalMonths, batch)
    await ensureJournalPartitions(pool, journalMonthsAhead)
    const dropped = await dropJournalPartitions(pool, journalMonths)
    return { result: { recovered, deleted, droppedMonths: dropped.map((row) => row.name) } }
  }
}
