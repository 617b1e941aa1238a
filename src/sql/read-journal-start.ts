import { statement } from './statement.ts'

export const readJournalStart = statement<[], { id: number | null; since: Date | null; end: number }>(
  'read_journal_start',
  `-- reads where the kept history begins: its first id, the month of its oldest partition; and the last id that was given out
select (select min(a.id) from mdm.aa_audit_log a)::float8 as id,
       (select min((regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''([^'']+)''\\)'))[1]::timestamptz)
          from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'mdm.aa_audit_log'::regclass) as since,
       (select case when s.is_called then s.last_value else 0 end from mdm.aa_audit_log_id s)::float8 as "end"`,
)
