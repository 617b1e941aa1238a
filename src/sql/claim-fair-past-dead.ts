import type { FairParams } from './claim-fair.ts'
import { begunWith, moveToRunning, metOnTheWay, type ClaimParams, type ClaimedRow } from './claim-parts.ts'
import { statement } from './statement.ts'

/** The last claimed (priority, due time, id) of tenants: their scans start behind it. Lists side by side, in the order of the tenants' ids. */
export type PastKeys = [
  tenants: readonly string[],
  priorities: readonly number[],
  availableAts: readonly string[],
  ids: readonly string[],
]

/**
 * `claim_fair` while a session holds an old snapshot: what was claimed stays in the index, dead, and nobody may remove it. Each tenant is
 * looked at from behind its last claimed job, at two probes a tenant in place of one. Without keys the same answer as `claim_fair`.
 */
export const claimFairPastDead = statement<[...ClaimParams, ...FairParams, ...PastKeys], ClaimedRow>(
  'claim_fair_past_dead',
  `-- pending -> running, fairly between tenants, each from behind its last claimed job; lives on aa_job_by_tenant
with recursive ${begunWith('aa_job_by_tenant')},
-- A hop takes the next tenant without a key, or the next with one, whichever comes first; k is the place of the next with one.
walk as (
  select 0 as arm, $8::uuid as tenant_id, 0 as n, false as usable, 1 + (select count(*)::int from unnest($14::uuid[]) t where t <= $8::uuid) as k,
         null::int as past
    from begun
  union all
  select h.arm, h.tenant_id, w.n + u.usable::int, u.usable, h.k, h.past
    from walk w
   cross join lateral (
     (select w.arm, j.tenant_id, w.k, null::int as past
        from mdm.aa_job j
       where j.lane = 0 and j.tenant_id > w.tenant_id
         and j.tenant_id < coalesce(($14::uuid[])[w.k], 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
         and j.tenant_id <= case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end
       order by j.tenant_id, j.priority, j.available_at, j.id limit 1)
     union all
     (select w.arm, ($14::uuid[])[w.k], w.k + 1, w.k
       where ($14::uuid[])[w.k] <= case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end)
     union all
     -- Once around: in front of the first tenant.
     (select 1, '00000000-0000-0000-0000-000000000000'::uuid, 1, null where w.arm = 0)
     limit 1) h
   cross join lateral (
     select not $7::jsonb ? h.tenant_id::text and (
       select true from mdm.aa_job j
        where j.lane = 0 and j.tenant_id <= h.tenant_id
          and (j.tenant_id, j.priority, j.available_at, j.id) > (h.tenant_id, coalesce(($15::int[])[h.past], '-2147483648'::int),
               coalesce(($16::timestamptz[])[h.past], '-infinity'), coalesce(($17::uuid[])[h.past], '00000000-0000-0000-0000-000000000000'::uuid))
          and j.available_at <= now() and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
        order by j.tenant_id, j.priority, j.available_at, j.id limit 1) is true as usable) u
   where w.n < $9::int),
seen as materialized (
  select w.arm, w.tenant_id, w.past, coalesce(($11::jsonb ->> w.tenant_id::text)::int, 1) as weight, (select max(n) from walk) as tenants
    from walk w where w.usable),
turn as (
  select s.arm, s.tenant_id, c.rn, c.id, c.tid, c.available_at, (c.rn - 1 + s.taken) / s.weight as round
    from (select *, case when tenant_id = $12::uuid then $13::int else 0 end as taken from seen) s
   cross join lateral (
     select row_number() over () as rn, z.id, z.tid, z.available_at
       from (
         select j.id, j.ctid as tid, j.available_at
           from mdm.aa_job j
          where j.lane = 0 and j.tenant_id <= s.tenant_id
            and (j.tenant_id, j.priority, j.available_at, j.id) > (s.tenant_id, coalesce(($15::int[])[s.past], '-2147483648'::int),
                 coalesce(($16::timestamptz[])[s.past], '-infinity'), coalesce(($17::uuid[])[s.past], '00000000-0000-0000-0000-000000000000'::uuid))
            and j.available_at <= now() and j.job_kind = any ($4::text[]) and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
          order by j.tenant_id, j.priority, j.available_at, j.id
          limit s.weight * case when s.tenants >= $9::int then 1 else $10::int end - s.taken
            for update skip locked) z) c),
picked as materialized (
  select id, tid, round, arm, tenant_id, rn, available_at from turn order by round, arm, tenant_id, rn limit $5::int),
${metOnTheWay('aa_job_by_tenant', 'select 2 * (select count(*) from walk) + count(*), coalesce(sum(s.weight), 0) * greatest($10::int, 1) from seen s')},
${moveToRunning(', (select met from way), p.available_at::text')}
 order by p.round, p.arm, p.tenant_id, p.rn`,
  { rowMode: 'array' },
)
