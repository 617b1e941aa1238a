import type { JournalRow } from '../jobs/job-event.ts'
import { journalRowColumns } from './journal-columns.ts'
import { statement } from './statement.ts'

export const readJobRuns = statement<
  [jobId: string, tenantIds: readonly string[] | null, beforeRevision: number, limit: number],
  JournalRow
>(
  'read_job_runs',
  `-- reads the ends of a job's runs before a revision, newest first, on aa_audit_log_job; claims that went back unstarted are none
select ${journalRowColumns}
  from mdm.aa_audit_log a
 where a.job_id = $1::uuid and a.revision < $3 and a.run_ms is not null
   and a.action not in ('job_stop_requested', 'job_cancel_requested') and not coalesce(a.payload ? 'unstarted', false)
   and ($2::uuid[] is null or a.tenant_id = any ($2))
 order by a.revision desc
 limit $4`,
)
