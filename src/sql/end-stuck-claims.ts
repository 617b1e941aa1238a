import { turnKey } from './claim-parts.ts'
import { statement } from './statement.ts'

export const endStuckClaims = statement<[afterMs: number], { pid: number; ended: boolean }>(
  'end_stuck_claims',
  `-- ends sessions that have had the turn of the claims for too long: their process is frozen or out of reach and does not take its answer, and nobody else claims meanwhile
with turn as (select ${turnKey} as key),
-- Materialized: the end may not be asked of anybody else on the way.
stuck as materialized (
  select l.pid
    from turn t
    join pg_locks l on l.locktype = 'advisory' and l.granted and l.database = (select oid from pg_database where datname = current_database())
                   and l.objsubid = 1 and l.classid::bigint = t.key >> 32 & 4294967295 and l.objid::bigint = t.key & 4294967295
    join pg_stat_activity a on a.pid = l.pid
   where a.query_start < clock_timestamp() - $1::float8 * interval '1 millisecond')
select pid, pg_terminate_backend(pid) as ended from stuck`,
)
