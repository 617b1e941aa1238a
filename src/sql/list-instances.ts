import type { InstanceRow } from './read-instances.ts'
import { instanceRowColumns } from './read-instances.ts'
import { statement } from './statement.ts'

export const listInstances = statement<[deadAfterMs: number], InstanceRow>(
  'list_instances',
  `-- reads the living instances, oldest first; a small table
select ${instanceRowColumns}
  from mdm.aa_instance i
 where i.heartbeat_at > clock_timestamp() - $1::float8 * interval '1 millisecond'
 order by i.started_at, i.id`,
)
