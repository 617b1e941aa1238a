import { mayStillBe, requested } from './admin-move-parts.ts'
import { heldRunningMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Asks running jobs to end as cancelled, but for those that have moved on; answers their ids. */
export const requestCancels = statement<[...BulkMoveParams, followsClaims: boolean], { id: string }>(
  'request_cancels',
  `-- running -> running, asked to end as cancelled; by the primary key
with ${heldRunningMany(mayStillBe.cancelled)},
${requested('cancelled', 'job_cancel_requested')}
select j.id from moved j`,
)
