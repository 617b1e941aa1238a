import { statement } from './statement.ts'

export interface RateLimitHits {
  readonly tenantId: string
  readonly kind: string
  readonly perMinute: number
}

export const countRateLimitHits = statement<[tenantIds: readonly string[], kinds: readonly string[]], RateLimitHits>(
  'count_rate_limit_hits',
  `-- reads how often jobs went back for want of a token in the last minute, on the journal's primary key, newest first
-- At most 20,000 rows: where a minute has more, what they say of their own span stands for the minute.
with newest as materialized (
  select a.at, a.tenant_id, a.job_kind, a.action, a.payload
    from mdm.aa_audit_log a
   where a.at > now() - interval '1 minute'
   order by a.id desc
   limit 20000),
span as (
  select case when count(*) < 20000 then 60 else least(greatest(date_part('epoch', now() - min(at)), 0.1), 60) end as seconds from newest)
select n.tenant_id as "tenantId", n.job_kind as kind, (count(*) * 60 / (select seconds from span))::float8 as "perMinute"
  from newest n
 where n.action = 'job_released' and n.payload ->> 'cause' = 'rate_limited' and n.tenant_id = any ($1::uuid[]) and n.job_kind = any ($2::text[])
 group by n.tenant_id, n.job_kind`,
)
