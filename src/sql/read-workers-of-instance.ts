import { workerRowColumns, type WorkerRow } from './read-workers.ts'
import { statement } from './statement.ts'

export const readWorkersOfInstance = statement<[instanceId: string], WorkerRow>(
  'read_workers_of_instance',
  `-- reads the pools of one instance, on aa_worker_instance
select ${workerRowColumns}
  from mdm.aa_worker w
 where w.instance_id = $1
 order by w.id`,
)
