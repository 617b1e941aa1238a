import { held, journaled, type AdminMoveParams } from './admin-move-parts.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Puts a dead job back with attempts at zero; answers the job, or no row. What it replaces in the payload stands in the journal. */
export const replayJob = statement<
  [
    ...AdminMoveParams,
    /** JSON text; null: the payload stays. */
    payloadText: string | null,
    at: Date | null,
    afterMs: number | null,
  ],
  JobRow
>(
  'replay_job',
  `-- dlq, failed -> pending; by the primary key. last_error stays until the next run ends, and in the history
with ${held('dlq', 'failed')},
due as (select coalesce($8::timestamptz, now() + coalesce($9::float8, 0) * interval '1 millisecond') as at),
moved as (
  update mdm.aa_job j
     set status = 'pending', attempts = 0, available_at = due.at, deferred = due.at > now(), payload = coalesce($7::jsonb, j.payload), revision = j.revision + 1,
         completed_at = null, dead_at = null, claimed_by = null, claimed_at = null, heartbeat_at = null, progress = null, result = null,
         stop_requested_at = null, stop_cause = null, stop_requested_by = null, stop_reason = null
    from held h, due
   where j.id = h.id
  returning j.*),
${journaled(
  'job_replay',
  `jsonb_strip_nulls(jsonb_build_object('from', h.status, 'available_at', j.available_at))
         || case when $7::jsonb is null then '{}' else jsonb_build_object('old_payload', h.payload) end`,
)}
select ${jobRowColumns} from moved j`,
)
