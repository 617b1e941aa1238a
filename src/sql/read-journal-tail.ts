import type { JournalAction } from '../jobs/lifecycle.ts'
import { streamedRowColumns } from './journal-columns.ts'
import { statement } from './statement.ts'

/** What one look at the journal's end sees, all of it in one snapshot. */
export type TailRow = JournalTailRow | ClaimTailRow | StateTailRow

export interface JournalTailRow {
  readonly what: 'row'
  readonly id: number
  readonly at: Date
  readonly jobId: string | null
  readonly tenantId: string
  readonly kind: string | null
  readonly action: JournalAction
  readonly revision: number | null
  readonly claimRevision: number | null
  readonly runMs: number | null
  readonly attempt: number | null
  readonly worker: number | null
  readonly actor: string | null
  readonly reason: string | null
  readonly payload: Readonly<Record<string, unknown>> | null
}

/** A job that runs under a claim that was not asked to be left out. */
interface ClaimTailRow extends Pick<JournalTailRow, 'at' | 'tenantId' | 'worker'> {
  readonly what: 'claim'
  readonly jobId: string
  readonly kind: string
  readonly revision: number
  readonly attempt: number
}

interface StateTailRow {
  readonly what: 'state'
  readonly payload: {
    /** Ids of the claim rows there are. */
    readonly claims: readonly number[]
    /** Transactions that may have written to the journal and go on; null where that was not asked for. */
    readonly writers: readonly string[] | null
  }
}

export const readJournalTail = statement<
  [from: readonly number[], to: readonly number[], limit: number, knownClaims: readonly number[], askWriters: boolean],
  TailRow
>(
  'read_journal_tail',
  `-- reads the journal's rows in these spans of ids, on its primary key; and, when they were not too many, the jobs of new aa_claim rows that run
with tail as materialized (
  select a.*
    from unnest($1::bigint[], $2::bigint[]) s(from_id, to_id)
   cross join lateral (select ${streamedRowColumns} from mdm.aa_audit_log a where a.id between s.from_id and s.to_id order by a.id limit $3::int) a
   order by a.id
   limit $3::int),
claims as materialized (
  select c.id, c.lease, c.job_ids from mdm.aa_claim c)
select 'row' as what, t.* from tail t
union all
-- A claim's list keeps jobs that have ended and may run elsewhere by now. Beyond the limit there are rows that come before these claims.
select 'claim', c.id::float8, j.claimed_at, j.id, j.tenant_id, j.job_kind, null, j.claim_revision, null, null, j.runs, w.id, null, null, null
  from claims c
 cross join lateral unnest(c.job_ids) u(job_id)
  -- One probe of the primary key each: a plan made while the table was small would scan it.
 cross join lateral (select * from mdm.aa_job j where j.id = u.job_id and j.status = 'running' and j.lease = c.lease offset 0) j
  left join mdm.aa_worker w on w.name = j.claimed_by
 where c.id <> all ($4::bigint[]) and (select count(*) from tail) < $3::int
union all
-- The snapshot is older than this look at the locks: who is not among them had ended before it, seen by the snapshot or not.
select 'state', null, null, null, null, null, null, null, null, null, null, null, null, null,
       jsonb_build_object('claims', (select coalesce(jsonb_agg(id), '[]') from claims), 'writers', case when $5::boolean then
         (select coalesce(jsonb_agg(distinct l.virtualtransaction), '[]') from pg_locks l
           where l.locktype = 'relation' and l.mode = 'RowExclusiveLock' and l.granted
             and l.database = (select d.oid from pg_database d where d.datname = current_database())
             and l.relation in (select p.relid from pg_partition_tree('mdm.aa_audit_log') p)) end)`,
)
