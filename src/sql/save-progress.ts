import { statement } from './statement.ts'

export const saveProgress = statement<[id: string, lease: string, progress: string], { stopRequested: boolean }>(
  'save_progress',
  `-- keeps the latest progress report of a run that is still held; it counts as a heartbeat
update mdm.aa_job j set progress = $3::jsonb || jsonb_build_object('at', now()), heartbeat_at = now()
 where j.id = $1::uuid and j.lease = $2::bigint
returning j.stop_requested_at is not null as "stopRequested"`,
)
