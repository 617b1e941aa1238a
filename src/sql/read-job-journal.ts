import type { JournalRow } from '../jobs/job-event.ts'
import { journalRowColumns } from './journal-columns.ts'
import { statement } from './statement.ts'

export const readJobJournal = statement<
  [jobId: string, tenantIds: readonly string[] | null, afterRevision: number, limit: number],
  JournalRow
>(
  'read_job_journal',
  `-- reads what happened to a job after a revision, oldest first, on aa_audit_log_job
select ${journalRowColumns}
  from mdm.aa_audit_log a
 where a.job_id = $1::uuid and a.revision > $3
   and ($2::uuid[] is null or a.tenant_id = any ($2))
 order by a.revision
 limit $4`,
)
