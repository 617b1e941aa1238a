import type { FairParams } from './claim-fair.ts'
import { begunWith, moveToRunning, metOnTheWay, type ClaimParams, type ClaimedRow } from './claim-parts.ts'
import { statement } from './statement.ts'

/**
 * The fair claim of pools that are limited to some kinds, or while (kind, tenant) pairs are left out: foreign jobs in front of its own cost it
 * nothing (300,000 of them made the tenant-first walk 20 times dearer). Same answer as `claim_fair`.
 */
export const claimFairByKind = statement<[...ClaimParams, ...FairParams, pairBounds: string], ClaimedRow>(
  'claim_fair_by_kind',
  `-- pending -> running, fairly between tenants, for some kinds; lives on aa_job_by_kind
-- Rows are compared as (kind, tenant) and ordered as the index is: no other index can serve that, whatever the statistics make the planner think.
with recursive ${begunWith('aa_job_by_kind')},
pair as (
  select k.kind, 0 as arm, $8::uuid as tenant_id, null::int as priority, null::timestamptz as available_at, null::uuid as id, null::tid as tid,
         0 as n, false as usable
    from begun, unnest($4::text[]) k(kind)
  union all
  select p.kind, h.arm, h.tenant_id, h.priority, h.available_at, h.id, h.tid, p.n + u.usable::int, u.usable
    from pair p
   cross join lateral (
     select * from (
       (select p.arm, j.tenant_id, j.priority, j.available_at, j.id, j.ctid as tid
          from mdm.aa_job j
         where j.lane = 0 and (j.job_kind, j.tenant_id) > (p.kind, p.tenant_id)
           and (j.job_kind, j.tenant_id) <= (p.kind, case when p.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end)
         order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)
       union all
       (select 1, j.tenant_id, j.priority, j.available_at, j.id, j.ctid
          from mdm.aa_job j
         where p.arm = 0 and j.lane = 0 and (j.job_kind, j.tenant_id) >= (p.kind, '00000000-0000-0000-0000-000000000000'::uuid)
           and (j.job_kind, j.tenant_id) <= (p.kind, $8::uuid)
         order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)) x limit 1) h
   cross join lateral (
     select not $6::jsonb ? (p.kind || ' ' || h.tenant_id::text) and not $7::jsonb ? h.tenant_id::text
        and (h.available_at <= now() or (
          select true from mdm.aa_job j
           where j.lane = 0 and (j.job_kind, j.tenant_id) >= (p.kind, h.tenant_id) and (j.job_kind, j.tenant_id) <= (p.kind, h.tenant_id)
             and j.available_at <= now()
           order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1) is true) as usable) u
   where p.n < $9::int),
-- A kind that was not walked to its end bounds the rotation: beyond it the order is not known.
bound as (select arm, tenant_id from pair where n = $9::int and usable order by arm, tenant_id limit 1),
open as (
  select p.kind, p.arm, p.tenant_id, p.priority, p.available_at, p.id, p.tid, w.weight, d.depth,
         -- Twice an even share of the kinds: to look at all rounds in each pair took 6 us a job.
         greatest(w.weight, least(d.depth, 2 * d.depth / cardinality($4::text[]) + 1)) as looks,
         -- No more of a pair than its bucket holds tokens for.
         ($14::jsonb ->> (p.kind || ' ' || p.tenant_id::text))::int as tokens
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
     (select o.priority, o.available_at, o.id, o.tid, 1 as place where o.depth = 1 and o.available_at <= now())
     union all
     (select z.priority, z.available_at, z.id, z.tid, row_number() over ()
        from (
          select j.priority, j.available_at, j.id, j.ctid as tid
            from mdm.aa_job j
           where (o.depth > 1 or o.available_at > now()) and j.lane = 0 and (j.job_kind, j.tenant_id) >= (o.kind, o.tenant_id)
             and (j.job_kind, j.tenant_id) <= (o.kind, o.tenant_id) and j.available_at <= now()
           order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit least(o.looks, o.tokens)) z)) c),
-- A pair that has more than was looked at bounds the rounds: what comes behind its last is not known. A round less for all keeps the turns even.
whole as (select min(rn / weight) as rounds from ranked where is_cut),
turn as (
  select r.arm, r.tenant_id, r.rn, r.id, r.tid, (r.rn - 1) / r.weight as round
    from ranked r, whole w where r.rn <= r.depth and (w.rounds is null or (r.rn - 1) / r.weight < w.rounds)),
picked as materialized (
  select t.round, t.arm, t.tenant_id, t.rn, t.id, l.tid
    from (select * from turn order by round, arm, tenant_id, rn) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${metOnTheWay('aa_job_by_kind', 'select 2 * (select count(*) from pair) + count(*), coalesce(sum(o.looks), 0) from open o')},
${moveToRunning(', (select met from way)', 'exists (select from open)')}
 order by p.round, p.arm, p.tenant_id, p.rn`,
  { rowMode: 'array' },
)
