import { capsInForce, runningByPair, runningUnderCap } from './cap-parts.ts'

/** Further parameters of the claims under caps. */
export type CappedParams = [
  /** Most jobs by "kind tenant" pair whose token bucket is in use, as a JSON object. */
  pairBounds: string,
  /** Null: every tenant. */
  tenantIds: readonly string[] | null,
  /** The rotation goes on after this tenant. */
  afterTenant: string,
  /** Weights other than 1, as a JSON object by tenant id. */
  weights: string,
]

const covers = (cap: string, kind: string, tenant: string): string =>
  `(${cap}.job_kind is null or ${cap}.job_kind = ${kind}) and (${cap}.tenant_id is null or ${cap}.tenant_id = ${tenant})`

/**
 * The due jobs that stand under a cap, each (kind, tenant) as deep as its caps have room: `candidate` (kind, arm, tenant_id, weight, id, tid,
 * priority, available_at, rn). It is looked at under the lock and after it was taken, in a snapshot of its own: what runs is what runs.
 */
export const candidatesUnderCaps = `${capsInForce},
${runningByPair()},
room as materialized (
  select c.job_kind, c.tenant_id, c.max - ${runningUnderCap} as free from cap c),
-- Rows are compared as (kind, tenant) and ordered as the index is: no other index can serve that, whatever the statistics say.
-- Tenants with due jobs of a kind that has a cap of its own: from tenant to tenant along aa_job_by_kind, after the cursor and once around.
walk as (
  select k.kind, 0 as arm, $10::uuid as tenant_id, 0 as n, false as usable
    from unnest($4::text[]) k(kind)
   where exists (select from room r where r.job_kind = k.kind and r.tenant_id is null and r.free > 0)
  union all
  select w.kind, h.arm, h.tenant_id, w.n + u.usable::int, u.usable
    from walk w
   cross join lateral (
     select * from (
       (select w.arm, j.tenant_id
          from mdm.aa_job j
         where j.lane = 0 and (j.job_kind, j.tenant_id) > (w.kind, w.tenant_id)
           and (j.job_kind, j.tenant_id) <= (w.kind, case when w.arm = 0 then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid else $10::uuid end)
         order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)
       union all
       (select 1, j.tenant_id
          from mdm.aa_job j
         where w.arm = 0 and j.lane = 0 and (j.job_kind, j.tenant_id) >= (w.kind, '00000000-0000-0000-0000-000000000000'::uuid)
           and (j.job_kind, j.tenant_id) <= (w.kind, $10::uuid)
         order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id limit 1)) x limit 1) h
   cross join lateral (
     select not $6::jsonb ? (w.kind || ' ' || h.tenant_id::text) and not $7::jsonb ? h.tenant_id::text
        and ($9::uuid[] is null or h.tenant_id = any ($9))
        and not exists (select from room r where r.free <= 0 and ${covers('r', 'w.kind', 'h.tenant_id')}) as usable) u
   where w.n < $5::int),
pair as (
  select kind, arm, tenant_id from walk where usable
  union
  select k.kind, case when r.tenant_id > $10::uuid then 0 else 1 end, r.tenant_id
    from room r
    join unnest($4::text[]) k(kind) on r.job_kind is null or r.job_kind = k.kind
   where r.tenant_id is not null and ($9::uuid[] is null or r.tenant_id = any ($9))
     and not $6::jsonb ? (k.kind || ' ' || r.tenant_id::text) and not $7::jsonb ? r.tenant_id::text
     and not exists (select from room o where o.free <= 0 and ${covers('o', 'k.kind', 'r.tenant_id')})),
candidate as (
  select p.kind, p.arm, p.tenant_id, coalesce(($11::jsonb ->> p.tenant_id::text)::int, 1) as weight, c.id, c.tid, c.priority, c.available_at,
         row_number() over (partition by p.tenant_id order by c.priority, c.available_at, c.id) as rn
    from pair p
   cross join lateral (
     select least($5::int, min(r.free), ($8::jsonb ->> (p.kind || ' ' || p.tenant_id::text))::int) as depth
       from room r where ${covers('r', 'p.kind', 'p.tenant_id')}) d
   cross join lateral (
     select j.id, j.ctid as tid, j.priority, j.available_at
       from mdm.aa_job j
      where j.lane = 0 and (j.job_kind, j.tenant_id) >= (p.kind, p.tenant_id) and (j.job_kind, j.tenant_id) <= (p.kind, p.tenant_id)
        and j.available_at <= now()
      order by j.job_kind, j.tenant_id, j.priority, j.available_at, j.id
      limit d.depth) c)`

/**
 * `picked` out of candidates in an order (SQL over the alias `c`): those of which no cap has had its fill by the ones before them. A candidate that one
 * cap keeps out counts for the others all the same: too few are taken now and then, never too many, and the next claim sees the rest.
 */
export const pickedUnderCaps = (order: string): string => `placed as (
  select c.*, row_number() over (order by ${order}) as place from candidate c),
counted as (
  select p.*, row_number() over (partition by p.kind order by p.place) as of_kind, row_number() over (partition by p.tenant_id order by p.place) as of_tenant,
         row_number() over (partition by p.kind, p.tenant_id order by p.place) as of_pair
    from placed p),
picked as materialized (
  select t.id, l.tid
    from (select c.id, c.tid, c.place
            from counted c
           where not exists (
             select from room r
              where ${covers('r', 'c.kind', 'c.tenant_id')}
                and r.free < case when r.job_kind is null then c.of_tenant when r.tenant_id is null then c.of_kind else c.of_pair end)
           order by c.place) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int)`
