import { journaled, toFailed } from './admin-move-parts.ts'
import { heldMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Flags jobs that do not run as not to be tried again, but for those that have moved on; answers their ids. */
export const stopJobs = statement<BulkMoveParams, { id: string }>(
  'stop_jobs',
  `-- pending, dlq -> failed; by the primary key
with ${heldMany(['pending', 'dlq'])},
${toFailed('stopped')},
${journaled('job_stop', `jsonb_build_object('from', h.status)`)}
select j.id from moved j`,
)
