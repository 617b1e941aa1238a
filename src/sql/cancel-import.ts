import { statement } from './statement.ts'

export const cancelImport = statement<
  [importId: string, tenantIds: readonly string[] | null, reason: string | null],
  { id: string; jobId: string | null }
>(
  'cancel_import',
  `-- an import that has not ended -> cancelled; what is committed stays
update mdm.aa_import_job i
   set status = 'cancelled', resume_status = i.status, finished_at = now(), upload_key = null,
       error = jsonb_build_object('code', 'cancelled', 'message', coalesce($3::text, 'It was cancelled.'))
 where i.id = $1::uuid and i.status in ('uploaded', 'staging', 'validating', 'validated', 'committing') and ($2::uuid[] is null or i.tenant_id = any ($2))
returning i.id, i.job_id as "jobId"`,
)
