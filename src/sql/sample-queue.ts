import { statement } from './statement.ts'

/** Notes how many jobs are due and run in this minute, unless it was noted already. */
export const sampleQueue = statement<
  [
    tenantIds: readonly string[],
    kinds: readonly string[],
    pending: readonly (number | null)[],
    running: readonly (number | null)[],
  ],
  never
>(
  'sample_queue',
  `-- counted jobs -> aa_stat_minute, once a minute: the row of aa_stat_sample says who was first
with sampled as (
  insert into mdm.aa_stat_sample (minute) values (date_trunc('minute', now())) on conflict do nothing returning minute)
insert into mdm.aa_stat_minute (tenant_id, job_kind, minute, pending, running)
select g.tenant_id, g.job_kind, s.minute, g.pending, g.running
  from sampled s
 cross join unnest($1::uuid[], $2::text[], $3::int[], $4::int[]) g(tenant_id, job_kind, pending, running)
 order by 1, 2
on conflict (tenant_id, job_kind, minute) do update set pending = excluded.pending, running = excluded.running`,
)
