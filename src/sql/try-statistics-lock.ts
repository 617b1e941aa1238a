import { statement } from './statement.ts'

export const tryStatisticsLock = statement<[], { taken: boolean }>(
  'try_statistics_lock',
  `-- one instance rolls up at a time; to the end of the transaction. Not the lock of maintenance: a long rollup must not keep jobs from being recovered
select pg_try_advisory_xact_lock(hashtextextended('stellwerk statistics', 0)) as taken`,
)
