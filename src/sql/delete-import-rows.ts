import { statement } from './statement.ts'

export const deleteImportRows = statement<[importId: string, limit: number], { deleted: number }>(
  'delete_import_rows',
  `-- deletes rows of an import in order, by the primary key
with gone as (
  delete from mdm.aa_import_row r
   where r.import_job_id = $1::uuid
     and r.row_no = any (array(select f.row_no from mdm.aa_import_row f where f.import_job_id = $1 order by f.row_no limit $2::int for update skip locked))
  returning 1)
select count(*)::int as deleted from gone`,
)
