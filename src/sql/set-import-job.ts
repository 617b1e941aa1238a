import { statement } from './statement.ts'

export const setImportJob = statement<[importId: string, jobId: string], never>(
  'set_import_job',
  `-- the job under which an import goes on
update mdm.aa_import_job set job_id = $2::uuid where id = $1::uuid`,
)
