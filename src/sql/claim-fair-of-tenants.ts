import type { FairParams } from './claim-fair.ts'
import { moveToRunning, type ClaimedRow, type ClaimParams } from './claim-parts.ts'
import { statement } from './statement.ts'

/** The fair claim of pools that are limited to some tenants: their list is the rotation, no walk over the others. Same order as `claim_fair`. */
export const claimFairOfTenants = statement<
  [...ClaimParams, ...FairParams, pairBounds: string, tenants: readonly string[]],
  ClaimedRow
>(
  'claim_fair_of_tenants',
  `-- pending -> running, fairly between some tenants; lives on aa_job_by_kind
-- Rows are compared as (kind, tenant) and ordered as the index is: no other index can serve that, whatever the statistics make the planner think.
with rotation as (
  select t.tenant_id, case when t.tenant_id > $8::uuid then 0 else 1 end as arm, coalesce(($11::jsonb ->> t.tenant_id::text)::int, 1) as weight,
         case when t.tenant_id = $12::uuid then $13::int else 0 end as taken
    from unnest($15::uuid[]) t(tenant_id)
   where not $7::jsonb ? t.tenant_id::text),
due as materialized (
  select r.*
    from rotation r
   where exists (
     select from unnest($4::text[]) k(kind)
      where not $6::jsonb ? (k.kind || ' ' || r.tenant_id::text)
        and (select true from mdm.aa_job j
              where j.lane = 0 and (j.job_kind, j.tenant_id) >= (k.kind, r.tenant_id) and (j.job_kind, j.tenant_id) <= (k.kind, r.tenant_id)
                and j.available_at <= now()
              order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1))
   order by r.arm, r.tenant_id
   limit $9::int),
ranked as (
  select d.arm, d.tenant_id, d.weight, d.taken, c.id, c.tid,
         row_number() over (partition by d.tenant_id order by c.priority, c.available_at, c.id) as rn,
         d.weight * case when (select count(*) from due) >= $9::int then 1 else $10::int end - d.taken as depth
    from due d
   cross join lateral (
     select j.priority, j.available_at, j.id, j.tid
       from unnest($4::text[]) k(kind)
      cross join lateral (
        select q.priority, q.available_at, q.id, q.ctid as tid
          from mdm.aa_job q
         where q.lane = 0 and (q.job_kind, q.tenant_id) >= (k.kind, d.tenant_id) and (q.job_kind, q.tenant_id) <= (k.kind, d.tenant_id)
           and q.available_at <= now() and not $6::jsonb ? (k.kind || ' ' || d.tenant_id::text)
         order by q.job_kind, q.tenant_id, q.priority, q.available_at, q.id
         limit least(d.weight * $10::int, ($14::jsonb ->> (k.kind || ' ' || d.tenant_id::text))::int)) j) c),
picked as materialized (
  select (t.rn - 1 + t.taken) / t.weight as round, t.arm, t.tenant_id, t.rn, t.id, l.tid
    from (select * from ranked where rn <= depth order by (rn - 1 + taken) / weight, arm, tenant_id, rn) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${moveToRunning('', 'exists (select from due)')}
 order by p.round, p.arm, p.tenant_id, p.rn`,
  { rowMode: 'array' },
)
