import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

export const readAuditEntry = statement<[id: string, tenantIds: readonly string[] | null], AuditRow>(
  'read_audit_entry',
  `-- reads one line of the journal by id, on its primary key
select ${auditRowColumns}
  from mdm.aa_audit_log a
 where a.id = $1::bigint
   and ($2::uuid[] is null or a.tenant_id = any ($2))`,
)
