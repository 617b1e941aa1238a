import { inTurn, metOnTheWay, microsAsTime, moveInTurn, type ClaimParams } from './claim-parts.ts'
import { claimStatement } from './claim-statement.ts'
import type { PlainList } from './settle-parts.ts'

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

/** The last claimed (priority, due time in microseconds since 1970, id) of tenants: their scans start behind it. Side by side, in the order of the tenants' ids. */
export type PastKeys = [tenants: PlainList, priorities: PlainList, availableMicros: PlainList, ids: PlainList]

/**
 * The claim of pools that serve all kinds. Round-robin in one statement: `walk` hops from tenant to tenant along the index, after the cursor
 * and once around; in each round a tenant gets as many jobs as its weight, its best first. Rows come in the order of the turns.
 *
 * What was claimed stays in the index until a vacuum, dead. A tenant is therefore picked from where the walk found it alive, and one whose last
 * claimed key is given is looked for behind that: without, 400,000 jobs in one go took twice the server's time a job that 50,000 take. Where
 * `keysHaveMore`, tenants with a key are taken to have something behind it, unseen: the look at each of 100 was 1.2 ms a claim.
 */
export const claimFair = claimStatement<[...ClaimParams, ...FairParams, ...PastKeys, keysHaveMore: boolean]>(
  'claim_fair',
  `-- pending -> running, fairly between tenants; lives on aa_job_by_tenant
-- Ranges in place of equality, and the index's whole order: no other index can serve them, whatever the statistics make the planner think.
with recursive ${inTurn('aa_job_by_tenant')},
-- A hop takes the next tenant without a key, or the next with one, whichever comes first; k is the place of the next with one.
walk as (
  select 0 as arm, $8::uuid as tenant_id, null::int as priority, null::timestamptz as available_at, null::uuid as id, 0 as n, false as usable,
         1 + (select count(*)::int from unnest($14::uuid[]) t where t <= $8::uuid) as k
    from begun
  union all
  select h.arm, h.tenant_id, u.priority, u.available_at, u.id, w.n + (u.id is not null)::int, u.id is not null, h.k
    from walk w
   cross join lateral (
     -- The arm's end is an index bound, not a filter: 300 us -> 38 us.
     (select w.arm, j.tenant_id, j.priority, j.available_at, j.id, w.k,
             j.available_at <= now() and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text) as due
        from mdm.aa_job j
       where j.lane = 0 and j.tenant_id > w.tenant_id
         and j.tenant_id < coalesce(($14::uuid[])[w.k], 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
         and j.tenant_id <= case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end
       order by j.tenant_id, j.priority, j.available_at, j.id limit 1)
     union all
     (select w.arm, ($14::uuid[])[w.k], ($15::int[])[w.k], ${microsAsTime('($16::bigint[])[w.k]')}, ($17::uuid[])[w.k], w.k + 1, $18::boolean
       where ($14::uuid[])[w.k] <= case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end)
     union all
     -- Once around: in front of the first tenant.
     (select 1, '00000000-0000-0000-0000-000000000000'::uuid, null, null, null, 1, false where w.arm = 0)
     limit 1 offset 0) h
    left join lateral (
     (select h.priority, h.available_at, h.id where h.due and not $7::jsonb ? h.tenant_id::text)
     union all
     (select j.priority, j.available_at, j.id
        from mdm.aa_job j
       where not h.due and not $7::jsonb ? h.tenant_id::text
         and j.lane = 0 and (j.tenant_id, j.priority, j.available_at, j.id) > (h.tenant_id, h.priority, h.available_at, h.id) and j.tenant_id <= h.tenant_id
         and j.available_at <= now() and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
       order by j.tenant_id, j.priority, j.available_at, j.id limit 1)
     limit 1) u on true
   where w.n < $9::int),
seen as materialized (
  select w.arm, w.tenant_id, w.priority, w.available_at, w.id, coalesce(($11::jsonb ->> w.tenant_id::text)::int, 1) as weight,
         (select max(n) from walk) as tenants
    from walk w where w.usable),
turn as (
  select s.arm, s.tenant_id, c.rn, c.id, c.tid, (c.rn - 1 + s.taken) / s.weight as round
    from (select *, case when tenant_id = $12::uuid then $13::int else 0 end as taken from seen) s
   cross join lateral (
     select row_number() over () as rn, z.id, z.tid
       from (
         select j.id, j.ctid as tid
           from mdm.aa_job j
          where j.lane = 0 and (j.tenant_id, j.priority, j.available_at, j.id) >= (s.tenant_id, s.priority, s.available_at, s.id) and j.tenant_id <= s.tenant_id
            and j.available_at <= now() and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
          order by j.tenant_id, j.priority, j.available_at, j.id
          -- More than one round only if the whole rotation was seen.
          limit s.weight * case when s.tenants >= $9::int then 1 else $10::int end - s.taken
            for update skip locked) z) c),
picked as materialized (
  select id, tid from turn order by round, arm, tenant_id, rn limit $5::int),
${metOnTheWay('aa_job_by_tenant', 'select (select count(*) from walk) + count(*), coalesce(sum(s.weight), 0) * greatest($10::int, 1) from seen s')},
${moveInTurn()}`,
)
