import { mayStillBe, requested } from './admin-move-parts.ts'
import { heldRunningMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Asks running jobs to end as stopped, but for those that have moved on; answers their ids. */
export const requestStops = statement<[...BulkMoveParams, followsClaims: boolean], { id: string }>(
  'request_stops',
  `-- running -> running, asked to end as stopped; by the primary key
with ${heldRunningMany(mayStillBe.stopped)},
${requested('stopped', 'job_stop_requested')}
select j.id from moved j`,
)
