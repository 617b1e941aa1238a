import { statement } from './statement.ts'

export const findJournalGaps = statement<[from: number, to: number], { from: number; to: number }>(
  'find_journal_gaps',
  `-- reads which ids of this span are not visible, index-only on the journal's primary key
select (before + 1)::float8 as "from", (id - 1)::float8 as "to"
  from (select id, lag(id, 1, $1::bigint - 1) over (order by id) as before
          from (select a.id from mdm.aa_audit_log a where a.id between $1::bigint and $2::bigint
                union all
                select $2::bigint + 1) visible) pairs
 where id > before + 1
 order by id`,
)
