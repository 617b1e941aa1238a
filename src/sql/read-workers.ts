import { statement } from './statement.ts'

/** One pool of slots in one process start. */
export interface WorkerRow {
  readonly id: number
  /** `<host>/<pid>/<uuid>`, as in `claimed_by`. */
  readonly name: string
  /** Null once the instance is gone. */
  readonly instanceId: string | null
  readonly slots: number
  /** Null: all. */
  readonly kinds: readonly string[] | null
  /** Tenant ids or keys; null: all. */
  readonly tenants: readonly string[] | null
  readonly startedAt: Date
}

/** The select list that makes a WorkerRow of the alias `w`. */
export const workerRowColumns = `w.id, w.name, w.instance_id as "instanceId", w.slots, w.kinds, w.tenants, w.started_at as "startedAt"`

export const readWorkers = statement<[ids: readonly string[]], WorkerRow>(
  'read_workers',
  `-- reads workers by their number, by the primary key
select ${workerRowColumns}
  from mdm.aa_worker w
 where w.id = any ($1::int[])`,
)
