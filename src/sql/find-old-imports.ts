import { statement } from './statement.ts'

type Params = [objectStore: string, keepMs: number, limit: number]

export const findOldImports = statement<Params, { id: string; objectKeys: string[] }>(
  'find_old_imports',
  `-- imports of this store that ended so long ago, and dry runs that nobody went on with, whose rows and objects are still there; by aa_import_job_kept
select i.id, array_remove(array[i.object_key, i.result_key], null) as "objectKeys"
  from mdm.aa_import_job i
 where i.purged_at is null and i.object_store = $1 and i.created_at < now() - make_interval(secs => $2::float8 / 1000)
   and (i.status in ('done', 'failed', 'cancelled') and i.finished_at < now() - make_interval(secs => $2 / 1000) or i.status = 'validated')
 order by i.created_at
 limit $3::int`,
)
