import type { FairParams, PastKeys } from './claim-fair.ts'
import { inTurn, metOnTheWay, microsAsTime, moveInTurn, noKey, type ClaimParams } from './claim-parts.ts'
import { claimStatement } from './claim-statement.ts'
import type { PlainList } from './settle-parts.ts'

/** The fair claim of pools that are limited to some tenants: their list is the rotation, no walk over the others. Same order as `claim_fair`, keys of pairs. */
export const claimFairOfTenants = claimStatement<
  [...ClaimParams, ...FairParams, ...PastKeys, keyKinds: PlainList, pairBounds: string, tenants: readonly string[]]
>(
  'claim_fair_of_tenants',
  `-- pending -> running, fairly between some tenants; lives on aa_job_by_kind
-- Rows are compared as (kind, tenant) and ordered as the index is: no other index can serve that, whatever the statistics make the planner think.
with ${inTurn('aa_job_by_kind')},
rotation as (
  select t.tenant_id, case when t.tenant_id > $8::uuid then 0 else 1 end as arm, coalesce(($11::jsonb ->> t.tenant_id::text)::int, 1) as weight,
         case when t.tenant_id = $12::uuid then $13::int else 0 end as taken
    from unnest($20::uuid[]) t(tenant_id)
   where not $7::jsonb ? t.tenant_id::text),
-- The best job of each pair, behind its key if it has one.
head as materialized (
  select r.arm, r.tenant_id, r.weight, r.taken, k.kind, h.priority, h.available_at, h.id
    from begun, rotation r
   cross join unnest($4::text[]) k(kind)
    left join unnest($18::text[], $14::uuid[], $15::int[], $16::bigint[], $17::uuid[]) past(kind, tenant_id, priority, micros, id)
      on past.kind = k.kind and past.tenant_id = r.tenant_id
   cross join lateral (
     select j.priority, j.available_at, j.id
       from mdm.aa_job j
      where j.lane = 0 and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id)
            > (k.kind, r.tenant_id, coalesce(past.priority, ${noKey[0]}), coalesce(${microsAsTime('past.micros')}, '-infinity'), coalesce(past.id, '${noKey[2]}'::uuid))
        and (j.job_kind, j.tenant_id) <= (k.kind, r.tenant_id) and j.available_at <= now()
      order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1) h
   where not $6::jsonb ? (k.kind || ' ' || r.tenant_id::text)),
due as materialized (
  select distinct h.arm, h.tenant_id from head h order by h.arm, h.tenant_id limit $9::int),
ranked as (
  select h.arm, h.tenant_id, h.weight, h.taken, c.id, c.tid,
         row_number() over (partition by h.tenant_id order by c.priority, c.available_at, c.id) as rn,
         h.weight * case when (select count(*) from due) >= $9::int then 1 else $10::int end - h.taken as depth
    from due d
    join head h on h.tenant_id = d.tenant_id
   cross join lateral (
     select j.priority, j.available_at, j.id, j.ctid as tid
       from mdm.aa_job j
      where j.lane = 0 and (j.job_kind, j.tenant_id, j.priority, j.available_at, j.id) >= (h.kind, h.tenant_id, h.priority, h.available_at, h.id)
        and (j.job_kind, j.tenant_id) <= (h.kind, h.tenant_id) and j.available_at <= now()
      order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id
      limit least(h.weight * $10::int, ($19::jsonb ->> (h.kind || ' ' || h.tenant_id::text))::int)) c),
picked as materialized (
  select t.id, l.tid
    from (select * from ranked where rn <= depth order by (rn - 1 + taken) / weight, arm, tenant_id, rn) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${metOnTheWay('aa_job_by_kind', 'select cardinality($4::text[]) * cardinality($20::uuid[]) + count(*), coalesce(sum(h.weight), 0) * $10::int from head h')},
${moveInTurn('exists (select from due)')}`,
)
