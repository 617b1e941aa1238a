import { begunWith, moveToRunning, metOnTheWay, type ClaimParams, type ClaimedRow } from './claim-parts.ts'
import { statement } from './statement.ts'

/** Further parameters of the fair claims. */
export type FairParams = [
  /** The rotation goes on after this tenant. */
  afterTenant: string,
  /** How many tenants with something to do are visited at most. */
  tenantsWanted: number,
  /** Rounds to take at once, if the whole rotation fits into one claim. */
  rounds: number,
  /** Weights other than 1, as a JSON object by tenant id. */
  weights: string,
  /** The tenant whose turn the last claim cut, and how many of it it had. */
  cutTenant: string,
  cutTaken: number,
]

/**
 * The claim of pools that serve all kinds. Round-robin in one statement: `walk` hops from tenant to tenant along the index, after the cursor
 * and once around; in each round a tenant gets as many jobs as its weight, its best first. Rows come in the order of the turns.
 */
export const claimFair = statement<[...ClaimParams, ...FairParams], ClaimedRow>(
  'claim_fair',
  `-- pending -> running, fairly between tenants; lives on aa_job_by_tenant
-- Ranges in place of equality, and the index's whole order: no other index can serve them, whatever the statistics make the planner think.
with recursive ${begunWith('aa_job_by_tenant')},
walk as (
  select 0 as arm, $8::uuid as tenant_id, 0 as n, false as usable from begun
  union all
  select h.arm, h.tenant_id, w.n + h.usable::int, h.usable
    from walk w
   cross join lateral (
     select x.arm, x.tenant_id,
            not $7::jsonb ? x.tenant_id::text
            and (x.direct or (
              select true from mdm.aa_job j
               where j.lane = 0 and j.tenant_id >= x.tenant_id and j.tenant_id <= x.tenant_id and j.available_at <= now()
                 and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
               order by j.tenant_id, j.priority, j.available_at, j.id limit 1) is true) as usable
       from (
         select y.arm, y.tenant_id,
                y.available_at <= now() and y.job_kind = any ($4::text[]) and not $6::jsonb ? (y.job_kind || ' ' || y.tenant_id::text) as direct
           from (
             -- The arm's end is an index bound, not a filter: 300 us -> 38 us.
             (select w.arm, j.tenant_id, j.job_kind, j.available_at
                from mdm.aa_job j
               where j.lane = 0 and j.tenant_id > w.tenant_id
                 and j.tenant_id <= case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end
               order by j.tenant_id, j.priority, j.available_at, j.id limit 1)
             union all
             (select 1, j.tenant_id, j.job_kind, j.available_at
                from mdm.aa_job j
               where w.arm = 0 and j.lane = 0 and j.tenant_id <= $8::uuid
               order by j.tenant_id, j.priority, j.available_at, j.id limit 1)
             limit 1 offset 0) y
         offset 0) x) h
   where w.n < $9::int),
seen as materialized (
  select w.arm, w.tenant_id, coalesce(($11::jsonb ->> w.tenant_id::text)::int, 1) as weight, (select max(n) from walk) as tenants
    from walk w where w.usable),
turn as (
  select s.arm, s.tenant_id, c.rn, c.id, c.tid, (c.rn - 1 + s.taken) / s.weight as round
    from (select *, case when tenant_id = $12::uuid then $13::int else 0 end as taken from seen) s
   cross join lateral (
     select row_number() over () as rn, z.id, z.tid
       from (
         select j.id, j.ctid as tid
           from mdm.aa_job j
          where j.lane = 0 and j.tenant_id >= s.tenant_id and j.tenant_id <= s.tenant_id and j.available_at <= now()
            and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
          order by j.tenant_id, j.priority, j.available_at, j.id
          -- More than one round only if the whole rotation was seen.
          limit s.weight * case when s.tenants >= $9::int then 1 else $10::int end - s.taken
            for update skip locked) z) c),
picked as materialized (
  select id, tid, round, arm, tenant_id, rn from turn order by round, arm, tenant_id, rn limit $5::int),
${metOnTheWay('aa_job_by_tenant', 'select 2 * (select count(*) from walk) + count(*), coalesce(sum(s.weight), 0) * greatest($10::int, 1) from seen s')},
${moveToRunning(', (select met from way)')}
 order by p.round, p.arm, p.tenant_id, p.rn`,
  { rowMode: 'array' },
)
