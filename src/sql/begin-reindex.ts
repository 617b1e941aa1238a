import { statement } from './statement.ts'

/** Who wrote entities at this moment may do so by the former configuration, and commit it later. */
export const beginReindex = statement<
  [jobId: string, typeId: string, targetVersion: number, total: number],
  { waitsFor: readonly string[] }
>(
  'begin_reindex',
  `-- writes down that a reindex begins, and which transactions are writing entities at this moment: they hold their lock until they end
insert into mdm.ddm_reindex_run (job_id, entity_type_id, target_version, total, waits_for)
select $1::uuid, $2::uuid, $3::int, $4::bigint,
       array(select distinct l.virtualtransaction from pg_locks l
              where l.locktype = 'relation' and l.relation = 'mdm.ddm_entity'::regclass and l.mode = 'RowExclusiveLock' and l.granted
                and l.database = (select d.oid from pg_database d where d.datname = current_database()) and l.pid <> pg_backend_pid())
returning waits_for as "waitsFor"`,
)
