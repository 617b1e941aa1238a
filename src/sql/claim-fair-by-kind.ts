import type { FairParams, PastKeys } from './claim-fair.ts'
import { inTurn, metOnTheWay, microsAsTime, moveInTurn, type ClaimParams } from './claim-parts.ts'
import { claimStatement } from './claim-statement.ts'
import type { PlainList } from './settle-parts.ts'

/**
 * The fair claim of pools that are limited to some kinds, or while (kind, tenant) pairs are left out: foreign jobs in front of its own cost it
 * nothing (300,000 of them made the tenant-first walk 20 times dearer). Same answer as `claim_fair`, and keys as there, of pairs.
 */
export const claimFairByKind = claimStatement<
  [...ClaimParams, ...FairParams, ...PastKeys, keyKinds: PlainList, pairBounds: string]
>(
  'claim_fair_by_kind',
  `-- pending -> running, fairly between tenants, for some kinds; lives on aa_job_by_kind
-- Rows are compared as (kind, tenant) and ordered as the index is: no other index can serve that, whatever the statistics make the planner think.
with recursive ${inTurn('aa_job_by_kind')},
-- A hop takes the next pair without a key, or the next with one, whichever comes first; k is the place of the next with one, past the pair's own.
pair as (
  select k.kind, 0 as arm, $8::uuid as tenant_id, null::int as priority, null::timestamptz as available_at, null::uuid as id, null::tid as tid, 0 as n, false as usable,
         f.k + f.passed as k, f.k as first
    from begun, unnest($4::text[]) k(kind)
   cross join lateral (
     select 1 + count(*) filter (where t.kind < k.kind collate "C")::int as k, count(*) filter (where t.kind = k.kind and t.tenant_id <= $8::uuid)::int as passed
       from unnest($18::text[], $14::uuid[]) t(kind, tenant_id)) f
  union all
  select p.kind, h.arm, h.tenant_id, u.priority, u.available_at, u.id, u.tid, p.n + (u.id is not null)::int, u.id is not null, h.k, p.first
    from pair p
   cross join lateral (
     select case when ($18::text[])[p.k] = p.kind then ($14::uuid[])[p.k] end as tenant_id,
            case when p.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end as arm_end) next
   cross join lateral (
     (select p.arm, j.tenant_id, j.priority, j.available_at, j.id, j.ctid as tid, p.k, j.available_at <= now() as due
        from mdm.aa_job j
       where j.lane = 0 and (j.job_kind, j.tenant_id) > (p.kind, p.tenant_id) and (j.job_kind, j.tenant_id) <= (p.kind, next.arm_end)
         and (j.job_kind, j.tenant_id) < (p.kind, coalesce(next.tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
       order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)
     union all
     (select p.arm, next.tenant_id, ($15::int[])[p.k], ${microsAsTime('($16::bigint[])[p.k]')}, ($17::uuid[])[p.k], null, p.k + 1, false
       where next.tenant_id <= next.arm_end)
     union all
     -- Once around: in front of the first tenant.
     (select 1, '00000000-0000-0000-0000-000000000000'::uuid, null, null, null, null, p.first, false where p.arm = 0)
     limit 1) h
    left join lateral (
     (select h.priority, h.available_at, h.id, h.tid
       where h.due and not $6::jsonb ? (p.kind || ' ' || h.tenant_id::text) and not $7::jsonb ? h.tenant_id::text)
     union all
     (select j.priority, j.available_at, j.id, j.ctid
        from mdm.aa_job j
       where not h.due and not $6::jsonb ? (p.kind || ' ' || h.tenant_id::text) and not $7::jsonb ? h.tenant_id::text
         and j.lane = 0 and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id) > (p.kind, h.tenant_id, h.priority, h.available_at, h.id)
         and (j.job_kind, j.tenant_id) <= (p.kind, h.tenant_id) and j.available_at <= now()
       order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)
     limit 1) u on true
   where p.n < $9::int),
-- A kind that was not walked to its end bounds the rotation: beyond it the order is not known.
bound as (select arm, tenant_id from pair where n = $9::int and usable order by arm, tenant_id limit 1),
open as (
  select p.kind, p.arm, p.tenant_id, p.priority, p.available_at, p.id, p.tid, w.weight, d.depth,
         -- Twice an even share of the kinds: to look at all rounds in each pair took 6 us a job.
         greatest(w.weight, least(d.depth, 2 * d.depth / cardinality($4::text[]) + 1)) as looks,
         -- No more of a pair than its bucket holds tokens for.
         ($19::jsonb ->> (p.kind || ' ' || p.tenant_id::text))::int as tokens
    from pair p
   cross join lateral (select coalesce(($11::jsonb ->> p.tenant_id::text)::int, 1) as weight) w
   cross join lateral (select case when exists (select from bound) then 1 else $10::int end * w.weight as depth) d
   where p.usable and (not exists (select from bound) or (p.arm, p.tenant_id) <= (select arm, tenant_id from bound))),
ranked as (
  select o.arm, o.tenant_id, o.weight, o.depth, c.id, c.tid, c.place = o.looks as is_cut,
         row_number() over (partition by o.arm, o.tenant_id order by c.priority, c.available_at, c.id)
           + case when o.tenant_id = $12::uuid then $13::int else 0 end as rn
    from open o
   cross join lateral (
     (select o.priority, o.available_at, o.id, o.tid, 1 as place where o.depth = 1)
     union all
     (select z.priority, z.available_at, z.id, z.tid, row_number() over ()
        from (
         select j.priority, j.available_at, j.id, j.ctid as tid
           from mdm.aa_job j
          where o.depth > 1 and j.lane = 0 and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id) >= (o.kind, o.tenant_id, o.priority, o.available_at, o.id)
            and (j.job_kind, j.tenant_id) <= (o.kind, o.tenant_id) and j.available_at <= now()
          order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit least(o.looks, o.tokens)) z)) c),
-- A pair that has more than was looked at bounds the rounds: what comes behind its last is not known. A round less for all keeps the turns even.
whole as (select min(rn / weight) as rounds from ranked where is_cut),
turn as (
  select r.arm, r.tenant_id, r.rn, r.id, r.tid, (r.rn - 1) / r.weight as round
    from ranked r, whole w where r.rn <= r.depth and (w.rounds is null or (r.rn - 1) / r.weight < w.rounds)),
picked as materialized (
  select t.id, l.tid
    from (select * from turn order by round, arm, tenant_id, rn) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${metOnTheWay('aa_job_by_kind', 'select (select count(*) from pair) + count(*), coalesce(sum(o.looks), 0) from open o')},
${moveInTurn('exists (select from open)')}`,
)
