import { journaled, toFailed } from './admin-move-parts.ts'
import { heldMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Withdraws jobs that wait, but for those that have moved on; answers their ids. */
export const cancelJobs = statement<BulkMoveParams, { id: string }>(
  'cancel_jobs',
  `-- pending -> failed; by the primary key
with ${heldMany(['pending'])},
${toFailed('cancelled')},
${journaled('job_cancel', `jsonb_build_object('from', h.status)`)}
select j.id from moved j`,
)
