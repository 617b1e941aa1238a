import { statement } from './statement.ts'

export const closeStatGaps = statement<[gaps: string], never>(
  'close_stat_gaps',
  `-- forgets ids that can never come: whoever could have written them has ended, and a look after that did not find them
update mdm.aa_stat_cursor c set gaps = c.gaps - $1::int8multirange where c.gaps && $1::int8multirange`,
)
