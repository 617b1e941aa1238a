import type { Pool } from 'pg'
import type { Wakeup } from '../../../events/wakeup.ts'
import { enqueueIndexRepairs } from '../../../sql/enqueue-index-repairs.ts'
import type { CleanupStep } from '../cleanup-jobs.ts'

/** What remains of index builds that nobody goes on with gets a job: leftovers in the catalogue, and what is said to be on its way and is not. */
export function indexJanitor({ pool, wakeup }: { readonly pool: Pool; readonly wakeup: Wakeup }): CleanupStep {
  return {
    name: 'indexes',
    async run() {
      const [row] = await enqueueIndexRepairs(pool, 'system:cleanup_jobs')
      if (row!.jobs > 0) wakeup.signal('work')
      return { indexJobs: row!.jobs }
    },
  }
}
