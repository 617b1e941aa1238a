import { expireQuarantine } from '../../sql/expire-quarantine.ts'
import { expireUploads } from '../../sql/expire-uploads.ts'
import type { Queryable } from '../../sql/statement.ts'
import type { ObjectSweep } from '../object-sweep.ts'
import type { CleanupStep } from './cleanup-jobs.ts'

const day = 24 * 60 * 60 * 1_000
const uploadMs = day
const quarantineMs = 30 * day
const batch = 1_000

/** What uploads leave to tidy: those that nobody committed, what lay in quarantine for a month, and objects given up (KINDS section 6). */
export function attachmentSteps(db: Queryable, sweep: ObjectSweep): CleanupStep[] {
  const all = async (signal: AbortSignal, expire: () => Promise<{ deleted: number }[]>): Promise<number> => {
    let total = 0
    for (let deleted = batch; deleted === batch && !signal.aborted;) {
      const [row] = await expire()
      deleted = row!.deleted
      total += deleted
    }
    return total
  }
  return [
    {
      name: 'uploads',
      run: async ({ signal }) => ({ expiredUploads: await all(signal, () => expireUploads(db, uploadMs, batch)) }),
    },
    {
      name: 'quarantine',
      run: async ({ signal }) => ({
        emptiedQuarantine: await all(signal, () => expireQuarantine(db, quarantineMs, batch)),
      }),
    },
    { name: 'objects', run: async ({ signal }) => ({ removedObjects: await sweep.run(signal) }) },
  ]
}
