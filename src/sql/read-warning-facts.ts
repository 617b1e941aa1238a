import { statement } from './statement.ts'

/** What an operator may have to see to. */
export interface WarningFacts {
  /** Kinds with due jobs that no living instance serves. */
  readonly unserved: readonly string[]
  /** The longest transaction that keeps dead rows from being removed, if it lasts longer than asked; null: none does. */
  readonly held: { readonly pid: number; readonly application: string; readonly seconds: number } | null
  /** A replication slot or a prepared transaction that does the same. */
  readonly heldBy: string | null
  /** Rows that no month of the journal took; no more than 1,000 are counted. */
  readonly stray: number
}

export const readWarningFacts = statement<[deadAfterMs: number, heldForMs: number], WarningFacts>(
  'read_warning_facts',
  `-- reads signs of trouble: of each kind one probe on aa_job_by_kind; the sessions of this database; the journal's DEFAULT partition
select array(
         select k.name
           from mdm.aa_job_kind k
          where exists (select from mdm.aa_job j where j.lane = 0 and j.job_kind = k.name)
            and not exists (
              select from mdm.aa_worker w
                join mdm.aa_instance i on i.id = w.instance_id
               where i.heartbeat_at > clock_timestamp() - $1::float8 * interval '1 millisecond' and (w.kinds is null or k.name = any (w.kinds)))
          order by k.name) as unserved,
       (select jsonb_build_object('pid', s.pid, 'application', s.application_name, 'seconds', extract(epoch from clock_timestamp() - s.xact_start)::int)
          from pg_stat_activity s
         where s.datname = current_database() and s.backend_xmin is not null and s.backend_type = 'client backend'
           and s.xact_start < clock_timestamp() - $2::float8 * interval '1 millisecond'
         order by s.xact_start
         limit 1) as held,
       coalesce(
         (select 'the prepared transaction ' || p.gid from pg_prepared_xacts p
           where p.database = current_database() and p.prepared < clock_timestamp() - $2::float8 * interval '1 millisecond' order by p.prepared limit 1),
         (select 'the replication slot ' || r.slot_name from pg_replication_slots r where r.xmin is not null and not r.active limit 1)) as "heldBy",
       (select count(*)::int from (select 1 from mdm_journal.aa_audit_log_default limit 1000) d) as stray`,
)
