/** Every cap in force: those that were set, and the kinds' own where none was set for the kind. */
export const capsInForce = `cap as materialized (
  select c.job_kind, c.tenant_id, c.max from mdm.aa_concurrency_limit c
  union all
  select k.name, null, k.max_concurrency
    from mdm.aa_job_kind k
   where k.max_concurrency is not null
     and not exists (select from mdm.aa_concurrency_limit c where c.job_kind = k.name and c.tenant_id is null))`

/** What runs by kind and tenant. A claim's list keeps jobs that have ended and may run elsewhere by now: each is re-checked by its lease. */
export const runningByPair = (which = 'true'): string => `running as materialized (
  select j.job_kind, j.tenant_id, count(*)::int as jobs
    from mdm.aa_claim c
   cross join lateral unnest(c.job_ids) u(id)
   -- The limit keeps the planner from hashing the whole table.
   cross join lateral (select q.job_kind, q.tenant_id from mdm.aa_job q where q.id = u.id and q.lease = c.lease and q.status = 'running' limit 1) j
   where ${which}
   group by j.job_kind, j.tenant_id)`

/** How much of `running` counts against the cap `c`. */
export const runningUnderCap = `coalesce((select sum(r.jobs) from running r
                  where (c.job_kind is null or r.job_kind = c.job_kind) and (c.tenant_id is null or r.tenant_id = c.tenant_id)), 0)::int`
