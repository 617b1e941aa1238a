import { statement } from './statement.ts'

export const findLostImportUploads = statement<[objectStore: string, limit: number], { id: string; objectKey: string }>(
  'find_lost_import_uploads',
  `-- files in this store whose upload began a day ago and never became an import: the table holds little else
select id, object_key as "objectKey"
  from mdm.aa_import_upload
 where object_store = $1 and created_at < now() - interval '24 hours'
 order by created_at
 limit $2::int`,
)
