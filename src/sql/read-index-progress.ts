import { statement } from './statement.ts'

export interface IndexProgress {
  readonly phase: string
  readonly blocksDone: number
  readonly blocksTotal: number
  readonly tuplesDone: number
  readonly tuplesTotal: number
  /** The session that the build waits for; null: it waits for none. */
  readonly waitsFor: { readonly pid: number; readonly application: string; readonly seconds: number } | null
}

export const readIndexProgress = statement<[pid: number], IndexProgress>(
  'read_index_progress',
  `-- reads how far the index build of a session is, and whom it waits for; a drop waits the same way and shows no phase
select coalesce(p.phase, 'dropping') as phase, coalesce(p.blocks_done, 0)::float8 as "blocksDone", coalesce(p.blocks_total, 0)::float8 as "blocksTotal",
       coalesce(p.tuples_done, 0)::float8 as "tuplesDone", coalesce(p.tuples_total, 0)::float8 as "tuplesTotal",
       (select jsonb_build_object('pid', w.pid, 'application', coalesce(w.application_name, ''),
                 'seconds', coalesce(round(extract(epoch from clock_timestamp() - w.xact_start)), 0))
          from pg_stat_activity w
         where w.pid = coalesce(nullif(p.current_locker_pid, 0), (pg_blocking_pids(a.pid))[1])) as "waitsFor"
  from pg_stat_activity a
  left join pg_stat_progress_create_index p on p.pid = a.pid
 where a.pid = $1::int and a.state = 'active'`,
)
