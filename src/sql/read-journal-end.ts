import { statement } from './statement.ts'

export const readJournalEnd = statement<[], { id: number; at: Date }>(
  'read_journal_end',
  `-- reads the last id that was given out for the journal, committed or not
select (case when is_called then last_value else 0 end)::float8 as id, clock_timestamp() as at from mdm.aa_audit_log_id`,
)
