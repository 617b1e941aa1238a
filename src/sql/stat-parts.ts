import { timeBoundsMs } from '../jobs/time-histogram.ts'

/** Of float8: for other types each comparison is a call. */
const bounds = `'{${timeBoundsMs.join(',')}}'::float8[]`
const buckets = Array.from({ length: timeBoundsMs.length + 1 }, (_, bucket) => bucket)

/** The columns of the journal that statistics are made of, of the alias `a`; the payload is long where a run failed. */
export const statColumns = `a.id, a.at, a.tenant_id, a.job_kind, a.action, a.wait_ms, a.run_ms, a.actor_principal_id,
         case when a.action = 'job_released' then a.payload end as payload`

/**
 * `slice`: what the journal's rows in `from` (statColumns) say of each tenant, kind and minute. Outcomes are those of mdm_jobs_attempts_total
 * (errors: retry and dlq). A claim that went back before its handler started neither waited nor ran; one that was taken back did not run to an end.
 * Rows that say the same come first, as `cell`, and what they mean is asked once for all of them: asked of each row, and with an aggregate for each
 * column and bucket, it cost ten times as much. `more`: aggregates that `cell` has beside.
 */
export const slicesOf = (from: string, more = ''): string => `cell as materialized (
  select tenant_id, job_kind, date_bin('1 minute', at, '2000-01-01T00:00Z') as minute, action, payload ->> 'cause' as cause,
         payload -> 'unstarted' is not null as unstarted, actor_principal_id is not distinct from 'system:recovery' as is_recovery,
         width_bucket(wait_ms::float8, ${bounds}) as wait_bucket, width_bucket(run_ms::float8, ${bounds}) as run_bucket,
         sum(wait_ms) as wait_ms, sum(run_ms) as run_ms, count(*)::int as seen${more}
    from ${from}
   group by 1, 2, 3, 4, 5, 6, 7, 8, 9),
-- Materialized: else what it says would be asked anew for each column and bucket.
fact as materialized (
  select tenant_id, job_kind, minute, seen, action, cause, run_bucket is not null as has_run,
         case when waited then wait_ms end as wait_ms, case when waited then wait_bucket end as wait_bucket,
         case when ran then run_ms end as run_ms, case when ran then run_bucket end as run_bucket
    from cell
   cross join lateral (select action in ('job_done', 'job_retry', 'job_dlq', 'job_stop', 'job_cancel') or action = 'job_released' and not unstarted as ended) e
   cross join lateral (select ended or action = 'job_recovered' as waited, ended and (not is_recovery or action = 'job_released') as ran) w
   where job_kind is not null
     and action in ('job_enqueued', 'job_done', 'job_retry', 'job_dlq', 'job_stop', 'job_cancel', 'job_recovered', 'job_released')),
slice as (
  select tenant_id, job_kind, minute, ${countOf(`action = 'job_enqueued'`)} as enqueued, ${countOf(`action = 'job_done'`)} as done,
         ${countOf(`action in ('job_retry', 'job_dlq')`)} as errors, ${countOf(`action = 'job_dlq'`)} as dead,
         ${countOf(`action in ('job_stop', 'job_cancel') and has_run`)} as stopped,
         ${countOf(`action = 'job_recovered'`)} as recovered, ${countOf(`action = 'job_released'`)} as released, ${countOf(`cause = 'rate_limited'`)} as throttled,
         coalesce(sum(wait_ms), 0)::bigint as wait_ms, coalesce(sum(run_ms), 0)::bigint as run_ms,
         ${histogramOf('wait')} as wait_hist, ${histogramOf('run')} as run_hist
    from fact
   group by 1, 2, 3)`

function countOf(which: string): string {
  return `coalesce(sum(seen) filter (where ${which}), 0)::int`
}

function histogramOf(what: 'wait' | 'run'): string {
  const counts = buckets.map((bucket) => countOf(`${what}_bucket = ${bucket}`))
  return `(array[${counts.join(', ')}])[1:max(${what}_bucket) + 1]`
}

/** The sum of many histograms in an aggregate; the whole of it is null where there was none. */
export const sumOfHistograms = (column: string): string =>
  `case when count(${column}) > 0 then array[${buckets.map((bucket) => `coalesce(sum(${column}[${bucket + 1}]), 0)`).join(', ')}]::float8[] end`

/** The sum of two histograms, either of which may be null. */
export const sumOfTwoHistograms = (a: string, b: string): string =>
  `case when ${b} is null then ${a}
              else array(select coalesce(u.a, 0) + coalesce(u.b, 0) from unnest(${a}, ${b}) with ordinality u(a, b, n) order by u.n) end`

/** How many of the journal's newest ids are looked at where a minute is not rolled up yet: 20 ms at most, however much happens. */
export const mostTailIds = 10_000

/** `newest.id`: the last id that was given out. */
export const newestId = `newest as materialized (select case when is_called then last_value else 0 end as id from mdm.aa_audit_log_id)`

/** Whether a row of the alias `a` is one of those. Both ends are said: of a half-open span the planner expects a third of the journal. */
export const amongNewest = `a.id > (select id - ${mostTailIds} from newest) and a.id <= (select id from newest)`
