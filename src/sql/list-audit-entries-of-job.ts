import { auditMatches, type AuditMatchParams } from './audit-matches.ts'
import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

/** The audit log of one job ($4 is its id). */
export const listAuditEntriesOfJob = statement<AuditMatchParams, AuditRow>(
  'list_audit_entries_of_job',
  `-- reads a job's lines of the audit log, newest first, on aa_audit_log_job
with rows as materialized (
  select a.* from mdm.aa_audit_log a where a.job_id = $4::uuid and ${auditMatches})
select ${auditRowColumns}
  from rows a
 order by a.id desc
 limit $8::int`,
)
