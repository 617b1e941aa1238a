import { statement } from './statement.ts'

export const heartbeatJobs = statement<
  [ids: readonly string[], leases: readonly string[]],
  { id: string; stopRequested: boolean }
>(
  'heartbeat_jobs',
  `-- running stays running: says that these runs are alive; answers those still held, and whether they were asked to stop
update mdm.aa_job j set heartbeat_at = now()
  from unnest($1::uuid[], $2::bigint[]) g(id, lease)
 where j.id = g.id and j.lease = g.lease
returning j.id, j.stop_requested_at is not null as "stopRequested"`,
)
