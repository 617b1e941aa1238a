import type { PastKeys } from './claim-fair-past-dead.ts'
import type { FairParams } from './claim-fair.ts'
import { begunWith, moveToRunning, metOnTheWay, type ClaimParams, type ClaimedRow } from './claim-parts.ts'
import { statement } from './statement.ts'

/** `claim_fair_by_kind` while a session holds an old snapshot: each (kind, tenant) from behind its last claimed job, see `claim_fair_past_dead`. */
export const claimFairByKindPastDead = statement<
  [...ClaimParams, ...FairParams, pairBounds: string, kinds: readonly string[], ...PastKeys],
  ClaimedRow
>(
  'claim_fair_by_kind_past_dead',
  `-- pending -> running, fairly between tenants, for some kinds, each pair from behind its last claimed job; lives on aa_job_by_kind
with recursive ${begunWith('aa_job_by_kind')},
-- A hop takes the next pair without a key, or the next with one, whichever comes first; k is the place of the next with one, past the pair's own.
pair as (
  select k.kind, 0 as arm, $8::uuid as tenant_id, null::int as priority, null::timestamptz as available_at, null::uuid as id, null::tid as tid,
         0 as n, false as usable, f.k + f.passed as k, f.k as first, null::int as past
    from begun, unnest($4::text[]) k(kind)
   cross join lateral (
     select 1 + count(*) filter (where t.kind < k.kind collate "C")::int as k, count(*) filter (where t.kind = k.kind and t.tenant_id <= $8::uuid)::int as passed
       from unnest($15::text[], $16::uuid[]) t(kind, tenant_id)) f
  union all
  select p.kind, h.arm, h.tenant_id, u.priority, u.available_at, u.id, u.tid, p.n + (u.id is not null)::int, u.id is not null, h.k, p.first, h.past
    from pair p
   cross join lateral (
     select case when ($15::text[])[p.k] = p.kind then ($16::uuid[])[p.k] end as tenant_id,
            case when p.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $8::uuid end as arm_end) next
   cross join lateral (
     (select p.arm, j.tenant_id, p.k, null::int as past
        from mdm.aa_job j
       where j.lane = 0 and (j.job_kind, j.tenant_id) > (p.kind, p.tenant_id) and (j.job_kind, j.tenant_id) <= (p.kind, next.arm_end)
         and (j.job_kind, j.tenant_id) < (p.kind, coalesce(next.tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
       order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)
     union all
     (select p.arm, next.tenant_id, p.k + 1, p.k where next.tenant_id <= next.arm_end)
     union all
     (select 1, '00000000-0000-0000-0000-000000000000'::uuid, p.first, null where p.arm = 0)
     limit 1) h
    left join lateral (
     select j.priority, j.available_at, j.id, j.ctid as tid
       from mdm.aa_job j
      where not $6::jsonb ? (p.kind || ' ' || h.tenant_id::text) and not $7::jsonb ? h.tenant_id::text
        and j.lane = 0 and (j.job_kind, j.tenant_id) <= (p.kind, h.tenant_id) and j.available_at <= now()
        and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id) > (p.kind, h.tenant_id, coalesce(($17::int[])[h.past], '-2147483648'::int),
             coalesce(($18::timestamptz[])[h.past], '-infinity'), coalesce(($19::uuid[])[h.past], '00000000-0000-0000-0000-000000000000'::uuid))
      order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1) u on true
   where p.n < $9::int),
bound as (select arm, tenant_id from pair where n = $9::int and usable order by arm, tenant_id limit 1),
open as (
  select p.kind, p.arm, p.tenant_id, p.priority, p.available_at, p.id, p.tid, p.past, w.weight,
         case when exists (select from bound) then 1 else $10::int end * w.weight as depth,
         ($14::jsonb ->> (p.kind || ' ' || p.tenant_id::text))::int as tokens
    from pair p
   cross join lateral (select coalesce(($11::jsonb ->> p.tenant_id::text)::int, 1) as weight) w
   where p.usable and (not exists (select from bound) or (p.arm, p.tenant_id) <= (select arm, tenant_id from bound))),
ranked as (
  select o.arm, o.tenant_id, o.weight, o.depth, c.id, c.tid, c.available_at,
         row_number() over (partition by o.arm, o.tenant_id order by c.priority, c.available_at, c.id) as rn
    from open o
   cross join lateral (
     (select o.priority, o.available_at, o.id, o.tid where o.depth = 1)
     union all
     (select j.priority, j.available_at, j.id, j.ctid
        from mdm.aa_job j
       where o.depth > 1 and j.lane = 0 and (j.job_kind, j.tenant_id) <= (o.kind, o.tenant_id) and j.available_at <= now()
         and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id) > (o.kind, o.tenant_id, coalesce(($17::int[])[o.past], '-2147483648'::int),
              coalesce(($18::timestamptz[])[o.past], '-infinity'), coalesce(($19::uuid[])[o.past], '00000000-0000-0000-0000-000000000000'::uuid))
       order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit least(o.depth, o.tokens))) c),
turn as (
  select arm, tenant_id, rn, id, tid, available_at, (rn - 1 + case when tenant_id = $12::uuid then $13::int else 0 end) / weight as round
    from ranked where rn + case when tenant_id = $12::uuid then $13::int else 0 end <= depth),
picked as materialized (
  select t.round, t.arm, t.tenant_id, t.rn, t.id, t.available_at, l.tid
    from (select * from turn order by round, arm, tenant_id, rn) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${metOnTheWay('aa_job_by_kind', 'select 2 * (select count(*) from pair) + count(*), coalesce(sum(o.depth), 0) from open o')},
${moveToRunning(', (select met from way), p.available_at::text', 'exists (select from open)')}
 order by p.round, p.arm, p.tenant_id, p.rn`,
  { rowMode: 'array' },
)
