import { statement } from './statement.ts'

export const heartbeatInstance = statement<
  [id: string, draining: boolean, delayMs: number, subscriptions: number, abandoned: number],
  { id: string }
>(
  'heartbeat_instance',
  `-- says that the instance lives, by the database's clock; no row: it was given up for dead and has to register anew
update mdm.aa_instance
   set heartbeat_at = now(), draining = $2, event_loop_delay_ms = $3, subscriptions = $4, abandoned = $5
 where id = $1::uuid
returning id`,
)
