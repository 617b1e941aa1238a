import { held, journaled, toPending, type AdminMoveParams } from './admin-move-parts.ts'
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
${toPending('coalesce($7::jsonb, j.payload)')},
${journaled(
  'job_replay',
  `jsonb_strip_nulls(jsonb_build_object('from', h.status, 'available_at', j.available_at))
         || case when $7::jsonb is null then '{}' else jsonb_build_object('old_payload', h.payload) end`,
)}
select ${jobRowColumns} from moved j`,
)
