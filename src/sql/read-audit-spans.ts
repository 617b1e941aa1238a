import { auditMatches, type AuditMatchParams } from './audit-matches.ts'
import { auditRowColumns, type AuditRow } from './audit-row.ts'
import { statement } from './statement.ts'

export const readAuditSpans = statement<
  [...AuditMatchParams, from: readonly number[], to: readonly number[]],
  AuditRow
>(
  'read_audit_spans',
  `-- reads lines of the audit log in these spans of ids, in order of id, on the journal's primary key
select a.*
  from unnest($9::bigint[], $10::bigint[]) s(from_id, to_id)
 cross join lateral (
   select ${auditRowColumns}, a.id as position
     from mdm.aa_audit_log a
    where a.id between s.from_id and s.to_id and ${auditMatches}
    order by a.id
    limit $8::int) a
 order by a.position
 limit $8::int`,
)
