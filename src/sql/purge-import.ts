import { statement } from './statement.ts'

export const purgeImport = statement<[importId: string], { id: string }>(
  'purge_import',
  `-- an import without rows and objects: its counts stay; a dry run that nobody went on with ends here
update mdm.aa_import_job
   set purged_at = now(), upload_key = null, resume_status = null, result_key = null,
       status = case when status = 'validated' then 'cancelled' else status end, finished_at = coalesce(finished_at, now())
 where id = $1::uuid and purged_at is null and status in ('done', 'failed', 'cancelled', 'validated')
returning id`,
)
