import { workerRowColumns, type WorkerRow } from './read-workers.ts'
import { statement } from './statement.ts'

export const readWorkersByName = statement<[names: readonly string[]], WorkerRow>(
  'read_workers_by_name',
  `-- reads workers by the name that stands in claimed_by, by its unique index
select ${workerRowColumns}
  from mdm.aa_worker w
 where w.name = any ($1::text[])`,
)
