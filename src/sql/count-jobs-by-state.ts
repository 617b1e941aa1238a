import { statement } from './statement.ts'

/** Due, waiting for their time, running, in the dead-letter queue, stopped or cancelled. */
export type QueueState = 'due' | 'waiting' | 'running' | 'dlq' | 'failed'

/** How many jobs a tenant and kind have in a state; a state without jobs is one row without a tenant. */
export type JobCount = {
  readonly state: QueueState
  readonly jobs: number
  /** There were more jobs in this state than are looked at: the counts are lower bounds. */
  readonly capped: boolean
} & (
  | {
      readonly tenantId: string
      /** Its key. */
      readonly tenant: string
      readonly kind: string
      /** Of due jobs, and of waiting ones that should be due: how long the oldest has waited. */
      readonly oldestDueSeconds: number | null
    }
  | { readonly tenantId: null; readonly tenant: null; readonly kind: null; readonly oldestDueSeconds: null }
)

/**
 * Jobs that are queued, running and dead by tenant and kind: costs the same whatever the history, at most 50,000 due,
 * 10,000 waiting, 10,000 running and 10,000 dead rows.
 */
export const countJobsByState = statement<[], JobCount>(
  'count_jobs_by_state',
  `-- reads how many jobs are queued, running, dead; due ones index-only on aa_job_by_kind, others on aa_job_waiting, aa_claim, aa_job_dead
-- The open ranges hold for every row; without statistics they make the planner expect few, and so walk an index in order up to the
-- limit instead of reading and sorting the whole (a plan from an empty table took 390 ms over a million done jobs).
with recursive
due as materialized (
  select job_kind, tenant_id, available_at
    from mdm.aa_job
   where lane = 0 and job_kind > '' and job_kind < '~'
   order by job_kind, tenant_id, priority, available_at, id
   limit 50001
),
-- With more due jobs than that, the first kinds and tenants would hide the others: then each (kind, tenant, priority) is probed for its
-- head, which is its oldest, and each may count an equal part of the 50,000.
overflow as (select count(*) > 50000 as yes from due),
heads as (
  (select job_kind, tenant_id, priority, available_at, 1 as nth
     from mdm.aa_job
    where lane = 0 and job_kind > '' and job_kind < '~' and (select yes from overflow)
    order by job_kind, tenant_id, priority, available_at, id
    limit 1)
  union all
  select next.job_kind, next.tenant_id, next.priority, next.available_at, heads.nth + 1
    from heads, lateral (
      select job_kind, tenant_id, priority, available_at
        from mdm.aa_job
       where lane = 0 and (job_kind, tenant_id, priority) > (heads.job_kind, heads.tenant_id, heads.priority)
       order by job_kind, tenant_id, priority, available_at, id
       limit 1) as next
   where heads.nth < 10000
),
waiting as materialized (
  select job_kind, tenant_id, available_at from mdm.aa_job
   where lane = 1 and available_at > '-infinity' and available_at < 'infinity'
   order by available_at
   limit 10001
),
claimed as materialized (
  select unnest(job_ids) as id, lease from mdm.aa_claim limit 10001
),
dead as materialized (
  select job_kind, tenant_id, status from mdm.aa_job
   where dead_at is not null and dead_at > '-infinity' and dead_at < 'infinity'
   order by dead_at desc, id desc
   limit 10001
),
-- As for due ones: the deaths of one tenant must not hide those of the others. Each may count an equal part, its latest ones.
dead_overflow as (select count(*) > 10000 as yes from dead),
bereaved as (
  (select tenant_id, 1 as nth
     from mdm.aa_job
    where dead_at is not null and tenant_id > '00000000-0000-0000-0000-000000000000' and (select yes from dead_overflow)
    order by tenant_id, dead_at, id
    limit 1)
  union all
  select next.tenant_id, bereaved.nth + 1
    from bereaved, lateral (
      select tenant_id from mdm.aa_job where dead_at is not null and tenant_id > bereaved.tenant_id order by tenant_id, dead_at, id limit 1) as next
   where bereaved.nth < 10000
),
buried as (
  select tenant_id, job_kind, status from dead where not (select yes from dead_overflow)
  union all
  select bereaved.tenant_id, part.job_kind, part.status
    from bereaved, lateral (
      select job_kind, status
        from mdm.aa_job
       where dead_at is not null and tenant_id = bereaved.tenant_id
       order by dead_at desc, id desc
       limit (select greatest(1, 10000 / count(*)) from bereaved)) as part
),
counted as (
  select 'due' as state, tenant_id, job_kind, count(*) as jobs, min(available_at) as oldest
    from due where not (select yes from overflow) group by tenant_id, job_kind
  union all
  select 'due', heads.tenant_id, heads.job_kind, part.jobs, heads.available_at
    from heads, lateral (
      select count(*) as jobs
        from (select from mdm.aa_job
               where lane = 0 and job_kind = heads.job_kind and tenant_id = heads.tenant_id and priority = heads.priority
               order by available_at, id
               limit (select greatest(1, 50000 / count(*)) from heads)) as counted_ones) as part
  union all
  select 'waiting', tenant_id, job_kind, count(*), min(available_at) filter (where available_at <= now())
    from waiting group by tenant_id, job_kind
  union all
  -- A claim's list keeps jobs that have ended and may run elsewhere by now. The limit keeps the planner from hashing the whole table.
  select 'running', tenant_id, job_kind, count(*), null
    from claimed, lateral (
      select tenant_id, job_kind from mdm.aa_job where id = claimed.id and lease = claimed.lease and status = 'running' limit 1) as job
   group by tenant_id, job_kind
  union all
  select status::text, tenant_id, job_kind, count(*), null
    from buried where status in ('dlq', 'failed') group by status, tenant_id, job_kind
),
capped (state, capped) as (
  values ('due', (select yes from overflow)),
         ('waiting', (select count(*) > 10000 from waiting)),
         ('running', (select count(*) > 10000 from claimed)),
         ('dlq', (select yes from dead_overflow)),
         ('failed', (select yes from dead_overflow))
)
select state, tenant_id as "tenantId", tenant_key as tenant, job_kind as kind, coalesce(sum(jobs), 0)::int as jobs,
       case when min(oldest) <= now() then extract(epoch from now() - min(oldest))::float8 end as "oldestDueSeconds", capped
  from capped
  left join (counted join mdm.aa_tenant on aa_tenant.id = tenant_id) using (state)
 group by state, tenant_id, tenant_key, job_kind, capped`,
)
