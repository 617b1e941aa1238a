import { statement } from './statement.ts'

export const resumeImport = statement<
  [importId: string, tenantIds: readonly string[] | null],
  { id: string; tenantId: string }
>(
  'resume_import',
  `-- validated -> committing: a dry run goes on for real
update mdm.aa_import_job i set status = 'committing'
 where i.id = $1::uuid and i.status = 'validated' and ($2::uuid[] is null or i.tenant_id = any ($2))
returning i.id, i.tenant_id as "tenantId"`,
)
