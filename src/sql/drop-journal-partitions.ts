import { statement } from './statement.ts'

export const dropJournalPartitions = statement<[keepMonths: number], { name: string }>(
  'drop_journal_partitions',
  `-- drops the journal's months that are older than what is kept and have no living job
select * from mdm.drop_journal_partitions($1::int) as name`,
)
