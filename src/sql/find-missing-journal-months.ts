import { statement } from './statement.ts'

export const findMissingJournalMonths = statement<[monthsAhead: number], { month: string }>(
  'find_missing_journal_months',
  `-- reads which of this month and the months ahead have no journal partition of their own, by the catalogue's index of names
select to_char(month, 'YYYY-MM') as month
  from generate_series(date_trunc('month', now() at time zone 'UTC'),
                       date_trunc('month', now() at time zone 'UTC') + make_interval(months => $1), interval '1 month') month
 where to_regclass('mdm_journal.aa_audit_log_' || to_char(month, 'YYYY_MM')) is null
 order by month`,
)
