import { statement } from './statement.ts'

export const findImportByUpload = statement<
  [tenantId: string, uploadKey: string],
  { id: string; jobId: string | null }
>(
  'find_import_by_upload',
  `-- the import that the same file is already, by aa_import_job_upload
select id, job_id as "jobId" from mdm.aa_import_job where tenant_id = $1::uuid and upload_key = $2`,
)
