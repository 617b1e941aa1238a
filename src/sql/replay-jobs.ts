import { journaled, toPending } from './admin-move-parts.ts'
import { heldMany, type BulkMoveParams } from './bulk-move-parts.ts'
import { statement } from './statement.ts'

/** Puts dead jobs back with attempts at zero, but for those that have moved on or whose tenant is closed; answers their ids. */
export const replayJobs = statement<BulkMoveParams, { id: string }>(
  'replay_jobs',
  `-- dlq, failed -> pending; by the primary key
with due as (select now() as at),
${heldMany(['dlq', 'failed'], " and j.tenant_id in (select n.id from mdm.aa_tenant n where n.status = 'active')")},
${toPending('j.payload')},
${journaled('job_replay', `jsonb_build_object('from', h.status, 'available_at', j.available_at)`)}
select j.id from moved j`,
)
