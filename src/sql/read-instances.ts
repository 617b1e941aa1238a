import { statement } from './statement.ts'

/** One process of the service. */
export interface InstanceRow {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly startedAt: Date
  readonly heartbeatAt: Date
  readonly draining: boolean
  readonly eventLoopDelayMs: number
  readonly subscriptions: number
  /** Time since the last sign of life, by the database's clock. */
  readonly silentMs: number
}

/** The select list that makes an InstanceRow of the alias `i`. */
export const instanceRowColumns = `i.id, i.host, i.pid, i.version, i.started_at as "startedAt", i.heartbeat_at as "heartbeatAt", i.draining,
       i.event_loop_delay_ms as "eventLoopDelayMs", i.subscriptions, extract(epoch from now() - i.heartbeat_at)::float8 * 1000 as "silentMs"`

export const readInstances = statement<[ids: readonly string[]], InstanceRow>(
  'read_instances',
  `-- reads instances by id, by the primary key
select ${instanceRowColumns}
  from mdm.aa_instance i
 where i.id = any ($1::uuid[])`,
)
