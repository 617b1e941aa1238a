import type { TimeHistogram } from '../jobs/time-histogram.ts'
import { amongNewest, newestId, slicesOf, statColumns, sumOfHistograms } from './stat-parts.ts'
import { statement } from './statement.ts'

/** What happened in one step of a chart to the jobs of one group. */
export interface StatStep {
  /** Counted from the start of the span, beginning with 0. */
  readonly step: number
  /** Null: of all kinds. */
  readonly kind: string | null
  /** Null: of all tenants. */
  readonly tenantId: string | null
  readonly enqueued: number
  readonly done: number
  readonly errors: number
  readonly dead: number
  /** Summed over the samples of the step. */
  readonly pending: number
  readonly running: number
  readonly waitHist: TimeHistogram | null
  readonly runHist: TimeHistogram | null
}

export const readStatSeries = statement<
  [
    tenantIds: readonly string[] | null,
    kinds: readonly string[] | null,
    from: Date,
    to: Date,
    stepSeconds: number,
    byKind: boolean,
    byTenant: boolean,
  ],
  StatStep
>(
  'read_stat_series',
  `-- reads statistics in steps of a span, on aa_stat_minute_time or its primary key; what is not rolled up yet from the journal's newest ids
with place as materialized (select c.high from mdm.aa_stat_cursor c),
${newestId},
unrolled as materialized (
  select ${statColumns}
    from mdm.aa_audit_log a
   where ${amongNewest} and a.id > (select high from place) and a.at >= $3::timestamptz and a.at < $4::timestamptz),
${slicesOf('unrolled')},
minutes as (
  select tenant_id, job_kind, minute, enqueued, done, errors, dead, null::int as pending, null::int as running, wait_hist, run_hist
    from slice
   where ($1::uuid[] is null or tenant_id = any ($1)) and ($2::text[] is null or job_kind = any ($2))
  union all
  select tenant_id, job_kind, minute, enqueued, done, errors, dead, pending, running, wait_hist, run_hist
    from mdm.aa_stat_minute
   where minute >= $3 and minute < $4 and ($1 is null or tenant_id = any ($1)) and ($2 is null or job_kind = any ($2)))
select floor(extract(epoch from minute - $3) / $5::int)::int as step, case when $6::boolean then job_kind end as kind,
       case when $7::boolean then tenant_id end as "tenantId",
       sum(enqueued)::float8 as enqueued, sum(done)::float8 as done, sum(errors)::float8 as errors, sum(dead)::float8 as dead,
       coalesce(sum(pending), 0)::float8 as pending, coalesce(sum(running), 0)::float8 as running,
       ${sumOfHistograms('wait_hist')} as "waitHist", ${sumOfHistograms('run_hist')} as "runHist"
  from minutes
 group by 1, 2, 3`,
)
