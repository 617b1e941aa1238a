import { statement } from './statement.ts'

export const ensureJournalPartitions = statement<[monthsAhead: number], { name: string }>(
  'ensure_journal_partitions',
  `-- makes the journal's months ahead that are missing
select * from mdm.ensure_journal_partitions($1::int) as name`,
)
