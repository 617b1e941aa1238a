import { statement } from './statement.ts'

export const notifyWakeup = statement<[payloads: readonly string[]], never>(
  'notify_wakeup',
  `-- tells the other instances to look; at most every 20 ms an instance, outside any job's transaction, and without waiting for the disk
select pg_notify('mdm_wakeup', each.payload) from unnest($1::text[]) each (payload) where set_config('synchronous_commit', 'off', true) = 'off'`,
)
