import type { TimeHistogram } from '../jobs/time-histogram.ts'
import { amongNewest, mostTailIds, newestId, slicesOf, statColumns } from './stat-parts.ts'
import { statement } from './statement.ts'

/** What happened to jobs of a tenant and kind of late. Histograms: of one minute that is rolled up, or of all that is not yet. */
export interface QueueFlow {
  readonly tenantId: string
  readonly kind: string
  /** In the last minute, or in what stands for it. */
  readonly enqueued: number
  readonly done: number
  readonly errors: number
  readonly throttled: number
  readonly waitHist: TimeHistogram | null
  readonly runHist: TimeHistogram | null
  /** How many seconds the counts are of: 60, or where a minute holds too much, the span of what was looked at. */
  readonly seconds: number
}

export const readQueueFlow = statement<[], QueueFlow>(
  'read_queue_flow',
  `-- reads what happened in the last minute by tenant and kind, and how long jobs waited and ran in the last five: the journal's newest ids on
-- its primary key, what is older on aa_stat_minute_time
with place as materialized (select c.high, c.rolled_at from mdm.aa_stat_cursor c),
${newestId},
tail as materialized (
  select ${statColumns}
    from mdm.aa_audit_log a
   where ${amongNewest} and a.at > now() - interval '5 minutes'
     and (a.at > now() - interval '1 minute' or a.id > (select high from place))),
-- Where so many ids are less than a minute, the counts come from the rollup: of its newest minute and the one before, as far as they are complete.
reach as materialized (
  select case when n.id > ${mostTailIds} and first.at > now() - interval '1 minute' and p.rolled_at > now() - interval '2 minutes'
              then date_trunc('minute', p.rolled_at) - interval '1 minute' end as since_minute,
         case when n.id <= ${mostTailIds} or first.at is null or first.at <= now() - interval '1 minute' then 60
              when p.rolled_at > now() - interval '2 minutes' then extract(epoch from p.rolled_at - date_trunc('minute', p.rolled_at)) + 60
              else greatest(extract(epoch from now() - first.at), 1) end as seconds
    from place p
   cross join newest n
    left join lateral (select a.at from mdm.aa_audit_log a where a.id > n.id - ${mostTailIds} order by a.id limit 1) first on true),
unrolled as (select t.* from tail t, place p where t.id > p.high),
${slicesOf('unrolled')},
minute as (
  select tenant_id, job_kind, wait_hist, run_hist from slice
  union all
  select s.tenant_id, s.job_kind, s.wait_hist, s.run_hist
    from mdm.aa_stat_minute s
   where s.minute >= date_trunc('minute', now() - interval '5 minutes') and (s.wait_hist is not null or s.run_hist is not null)),
rate as (
  select tenant_id, job_kind, count(*) filter (where action = 'job_enqueued') as enqueued, count(*) filter (where action = 'job_done') as done,
         count(*) filter (where action in ('job_retry', 'job_dlq')) as errors,
         count(*) filter (where action = 'job_released' and payload ->> 'cause' = 'rate_limited') as throttled
    from tail
   where at > now() - interval '1 minute' and (select since_minute from reach) is null
   group by 1, 2
  union all
  select s.tenant_id, s.job_kind, sum(s.enqueued), sum(s.done), sum(s.errors), sum(s.throttled)
    from mdm.aa_stat_minute s
   where s.minute >= (select since_minute from reach)
   group by 1, 2)
select tenant_id as "tenantId", job_kind as kind, enqueued::float8, done::float8, errors::float8, throttled::float8,
       null::int[] as "waitHist", null::int[] as "runHist", (select seconds::float8 from reach) as seconds
  from rate
 where job_kind is not null
union all
select tenant_id, job_kind, 0, 0, 0, 0, wait_hist, run_hist, (select seconds::float8 from reach)
  from minute`,
)
