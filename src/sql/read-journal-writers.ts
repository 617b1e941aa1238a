import { statement } from './statement.ts'

export const readJournalWriters = statement<[], { writer: string }>(
  'read_journal_writers',
  `-- reads which transactions hold the lock that everybody takes who writes to the journal, before the id is drawn, until the end
select distinct l.virtualtransaction as writer
  from pg_locks l
 where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.granted
   and l.database = (select d.oid from pg_database d where d.datname = current_database())
   and l.relation in (select p.relid from pg_partition_tree('mdm.aa_audit_log') p)`,
)
