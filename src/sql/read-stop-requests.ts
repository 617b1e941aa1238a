import { statement } from './statement.ts'

export const readStopRequests = statement<[ids: readonly string[]], { id: string }>(
  'read_stop_requests',
  `-- which of these running jobs were asked to stop; by the primary key
select id from mdm.aa_job where id = any ($1::uuid[]) and status = 'running' and stop_requested_at is not null`,
)
