import { auditMatches, type AuditMatchParams } from './audit-matches.ts'
import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

/** For filters that leave much over: the newest first, whatever they are. */
export const listAuditEntries = statement<AuditMatchParams, AuditRow>(
  'list_audit_entries',
  `-- reads lines of the audit log, newest first, on the journal's primary key
select ${auditRowColumns}
  from mdm.aa_audit_log a
 where ${auditMatches}
 order by a.id desc
 limit $8::int`,
)
