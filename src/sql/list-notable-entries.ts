import { auditMatches, type AuditMatchParams } from './audit-matches.ts'
import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

/** For actions beyond the ordinary life of a job: tenant by tenant, past all that goes well. */
export const listNotableEntries = statement<AuditMatchParams, AuditRow>(
  'list_notable_entries',
  `-- reads notable lines of the audit log, newest first, on aa_audit_log_notable
select ${auditRowColumns}
  from mdm.aa_tenant t
 cross join lateral (
   select a.* from mdm.aa_audit_log a
    where a.tenant_id = t.id and a.action not in ('job_enqueued', 'job_done', 'job_retry', 'job_released')
      and ${auditMatches}
    order by a.id desc
    limit $8::int) a
 where $1::uuid[] is null or t.id = any ($1)
 order by a.id desc
 limit $8::int`,
)
