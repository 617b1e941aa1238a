import { turnKey } from './claim-parts.ts'
import { statement } from './statement.ts'

export const waitForTurn = statement<[withinMs: string], { settled: string }>(
  'wait_for_turn',
  `-- waits in line for the turn of the claims, to the end of the transaction; who only tries it does not pass those who wait
select set_config('lock_timeout', $1, true) as settled, pg_advisory_xact_lock(${turnKey})`,
)
