import { statement } from './statement.ts'

export const tryFanOutLock = statement<[tenantId: string], { mine: boolean }>(
  'try_fan_out_lock',
  `-- one fan-out a tenant at a time, over all instances, until the transaction ends (several at once gave 128 inversions of order in 800 events)
select pg_try_advisory_xact_lock(hashtextextended('mdm.outbox ' || $1::text, 0)) as mine`,
)
