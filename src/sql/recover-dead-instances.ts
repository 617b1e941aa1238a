import { heldColumns, recoverHeld, type RecoveredRow } from './recover-parts.ts'
import { statement } from './statement.ts'

/** Takes back what instances hold that are gone, or were not heard of for so many milliseconds. */
export const recoverDeadInstances = statement<[deadAfterMs: number, limit: number], RecoveredRow>(
  'recover_dead_instances',
  `-- running -> pending, dlq or failed: the claims of instances without a sign of life; reads aa_claim, re-checks each job by its lease
with orphaned as (
  select c.lease, c.job_ids from mdm.aa_claim c
   where c.instance_id is not null
     and not exists (
       select from mdm.aa_instance i
        where i.id = c.instance_id and i.heartbeat_at > clock_timestamp() - $1::float8 * interval '1 millisecond')),
held as materialized (
  select ${heldColumns}, 'dead_instance' as cause
    from orphaned o
   cross join lateral unnest(o.job_ids) u(job_id)
    join mdm.aa_job j on j.id = u.job_id and j.status = 'running' and j.lease = o.lease
   limit $2::int
     for update of j skip locked),
${recoverHeld}`,
)
