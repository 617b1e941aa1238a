import { statement } from './statement.ts'

/**
 * Who writes at this moment, or has a snapshot that it keeps (REPEATABLE READ), may write by the former configuration, and commit it later. Call it
 * when the new configuration is committed.
 */
export const beginReindex = statement<
  [jobId: string, typeId: string, targetVersion: number, total: number],
  { jobId: string }
>(
  'begin_reindex',
  `-- writes down that a reindex begins, and which transactions are older: those that write entities hold their lock until they end, those that keep a
-- snapshot show it. Of sessions that this role must not look into every transaction counts
insert into mdm.ddm_reindex_run (job_id, entity_type_id, target_version, total, waits_for)
select $1::uuid, $2::uuid, $3::int, $4::bigint,
       array(select distinct l.virtualtransaction
               from (select d.oid from pg_database d where d.datname = current_database()) here
               cross join pg_locks l left join pg_stat_activity s on s.pid = l.pid
              where l.granted and l.pid is distinct from pg_backend_pid()
                and (l.locktype = 'relation' and l.database = here.oid and l.relation = 'mdm.ddm_entity'::regclass and l.mode = 'RowExclusiveLock'
                     or l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and s.datid = here.oid and s.usesysid is not null
                        and (s.backend_xmin is not null or s.state is null)))
returning job_id as "jobId"`,
)
