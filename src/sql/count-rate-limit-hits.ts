import { amongNewest, mostTailIds, newestId } from './stat-parts.ts'
import { statement } from './statement.ts'

export interface RateLimitHits {
  readonly tenantId: string
  readonly kind: string
  readonly perMinute: number
}

export const countRateLimitHits = statement<[tenantIds: readonly string[], kinds: readonly string[]], RateLimitHits>(
  'count_rate_limit_hits',
  `-- reads how often jobs went back for want of a token in the last minute, on the journal's primary key
-- Its newest ids only: by time alone an idle minute would walk the whole month. Where a minute has more, they stand for it.
with ${newestId},
tail as materialized (
  select a.tenant_id, a.job_kind, a.action, a.payload
    from mdm.aa_audit_log a
   where ${amongNewest} and a.at > now() - interval '1 minute'),
span as (
  select case when n.id <= ${mostTailIds} or first.at is null then 60
              else least(greatest(date_part('epoch', now() - first.at), 0.1), 60) end as seconds
    from newest n
    left join lateral (select a.at from mdm.aa_audit_log a where a.id > n.id - ${mostTailIds} order by a.id limit 1) first on true)
select t.tenant_id as "tenantId", t.job_kind as kind, (count(*) * 60 / (select seconds from span))::float8 as "perMinute"
  from tail t
 where t.action = 'job_released' and t.payload ->> 'cause' = 'rate_limited' and t.tenant_id = any ($1::uuid[]) and t.job_kind = any ($2::text[])
 group by t.tenant_id, t.job_kind`,
)
