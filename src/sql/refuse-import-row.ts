import { statement } from './statement.ts'

export const refuseImportRow = statement<[importId: string, detail: string], { invalidRows: number }>(
  'refuse_import_row',
  `-- valid -> invalid: the next row in order of the file, which the database would not take; the import is held
with refused as (
  update mdm.aa_import_row r
     set status = 'invalid', errors = jsonb_build_array(jsonb_build_object('code', 'refused', 'detail', $2::text))
   where r.import_job_id = $1::uuid
     and r.row_no = (select f.row_no from mdm.aa_import_row f where f.import_job_id = $1 and f.status = 'valid' order by f.row_no limit 1)
  returning r.row_no)
update mdm.aa_import_job i set invalid_rows = i.invalid_rows + 1, valid_rows = i.valid_rows - 1
  from refused
 where i.id = $1
returning i.invalid_rows as "invalidRows"`,
)
