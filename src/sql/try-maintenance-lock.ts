import { statement } from './statement.ts'

export const tryMaintenanceLock = statement<[], { taken: boolean }>(
  'try_maintenance_lock',
  `-- one instance at a time; to the end of the transaction
select pg_try_advisory_xact_lock(hashtextextended('stellwerk maintenance', 0)) as taken`,
)
