import { statement } from './statement.ts'

export const removeDeadInstances = statement<[deadAfterMs: number], { id: string }>(
  'remove_dead_instances',
  `-- forgets instances without a sign of life that hold nothing any more
delete from mdm.aa_instance i
 where i.heartbeat_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
   and not exists (select from mdm.aa_claim c where c.instance_id = i.id)
returning i.id`,
)
