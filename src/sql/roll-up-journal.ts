import { slicesOf, statColumns, sumOfTwoHistograms } from './stat-parts.ts'
import { statement } from './statement.ts'

export interface RolledUp {
  /** Rows of the journal that were counted. */
  readonly rows: number
  /** Whether there may be more: as many were taken as one pass takes. */
  readonly more: boolean
  /** Ids that were not visible although later ones were, as text; '{}': none. */
  readonly gaps: string
}

/** Rows that have filled a gap, as many as one pass takes. */
const late = `select true as late, found.*
     from place
    cross join lateral unnest(place.gaps) g(span)
    cross join lateral (
      select ${statColumns} from mdm.aa_audit_log a where a.id >= lower(g.span) and a.id < upper(g.span) order by a.id limit $1::int) found
    limit $1::int`

/** Counts the next rows of the journal, and those that have filled a gap since; in the same statement they are noted as counted. */
export const rollUpJournal = statement<[limit: number], RolledUp>(
  'roll_up_journal',
  `-- journal -> aa_stat_minute; on the journal's primary key. The cursor's row is locked: a row is counted once, whoever counts
with place as materialized (select c.high, c.gaps from mdm.aa_stat_cursor c limit 1 for update),
seen as (
  (${late})
  union all
  select false, found.*
    from place
   cross join lateral (select ${statColumns} from mdm.aa_audit_log a where a.id > place.high order by a.id limit $1::int) found),
${slicesOf(
  'seen',
  `, max(id) filter (where not late) as high, max(at) as at, count(*) filter (where late)::int as late`,
)},
-- Between the old mark and the new one nothing is missing but where the rows are fewer than the ids: only then are the ids gone through.
top as materialized (
  select coalesce(max(c.high), (select high from place)) as id, max(c.at) as at, coalesce(sum(c.late), 0)::int as late,
         coalesce(sum(c.seen - c.late), 0)::int as fresh
    from cell c),
counted as (
  insert into mdm.aa_stat_minute as s (tenant_id, job_kind, minute, enqueued, done, errors, dead, stopped, recovered, released, throttled, wait_ms, run_ms, wait_hist, run_hist)
  select tenant_id, job_kind, minute, enqueued, done, errors, dead, stopped, recovered, released, throttled, wait_ms, run_ms, wait_hist, run_hist
    from slice
   order by tenant_id, job_kind, minute
  on conflict (tenant_id, job_kind, minute) do update
     set enqueued = s.enqueued + excluded.enqueued, done = s.done + excluded.done, errors = s.errors + excluded.errors, dead = s.dead + excluded.dead,
         stopped = s.stopped + excluded.stopped, recovered = s.recovered + excluded.recovered, released = s.released + excluded.released,
         throttled = s.throttled + excluded.throttled, wait_ms = s.wait_ms + excluded.wait_ms, run_ms = s.run_ms + excluded.run_ms,
         wait_hist = ${sumOfTwoHistograms('s.wait_hist', 'excluded.wait_hist')},
         run_hist = ${sumOfTwoHistograms('s.run_hist', 'excluded.run_hist')}),
moved as (
  update mdm.aa_stat_cursor c
     set high = top.id, rolled_at = greatest(c.rolled_at, top.at),
         gaps = case when top.late = 0 and top.fresh = top.id - c.high then c.gaps
                     else c.gaps + int8multirange(int8range(c.high, top.id, '(]'))
                          - coalesce((
                            select range_agg(int8range(s.id, s.id, '[]'))
                              from (select l.id from (${late}) l
                                    union all
                                    select a.id from mdm.aa_audit_log a where a.id > c.high and a.id <= top.id) s), '{}') end
    from top
   where top.late + top.fresh > 0
  returning c.gaps)
select top.late + top.fresh as rows, top.late = $1::int or top.fresh = $1::int as more,
       coalesce((select gaps from moved), (select gaps from place))::text as gaps
  from top`,
)
