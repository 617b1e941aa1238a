import { streamedRowColumns } from './journal-columns.ts'
import type { JournalTailRow } from './read-journal-tail.ts'
import { statement } from './statement.ts'

export const readJournalSpans = statement<
  [from: readonly number[], to: readonly number[], limit: number],
  Omit<JournalTailRow, 'what'>
>(
  'read_journal_spans',
  `-- reads the journal's rows in these spans of ids, in order of id, on its primary key
select a.*
  from unnest($1::bigint[], $2::bigint[]) s(from_id, to_id)
 cross join lateral (select ${streamedRowColumns} from mdm.aa_audit_log a where a.id between s.from_id and s.to_id order by a.id limit $3::int) a
 order by a.id
 limit $3::int`,
)
