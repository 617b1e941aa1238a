import { statement } from './statement.ts'

export const heartbeatJobs = statement<[ids: readonly string[], leases: readonly string[]], { id: string }>(
  'heartbeat_jobs',
  `-- running stays running: says that these runs are alive; answers those still held
update mdm.aa_job j set heartbeat_at = now()
  from unnest($1::uuid[], $2::bigint[]) g(id, lease)
 where j.id = g.id and j.lease = g.lease
returning j.id`,
)
