import { inTurn, moveInTurn, metOnTheWay, pastTime, type ClaimParams, type PriorityParams } from './claim-parts.ts'
import { claimStatement } from './claim-statement.ts'

/** How many of a kind are looked at: twice an even share, so that one kind may lead and rows locked by others are skipped. */
const depth = 'greatest(2 * $5::int / cardinality($4::text[]), least($5::int, 32))'

/**
 * The claim of pools with dispatch `priority` that are limited to some kinds: one ordered probe a kind, merged without locks, then locked
 * in that order (locks inside the probes would lock every due job). Where a kind has more than was looked at, the order is known up to the last
 * of these, and the claim brings no more: to look at the whole limit in each of nine kinds took 17 us a job.
 */
export const claimPriorityByKind = claimStatement<[...ClaimParams, ...PriorityParams, pairBounds: string]>(
  'claim_priority_by_kind',
  `-- pending -> running, by priority and due time, for some kinds; lives on aa_job_by_kind_priority, and on aa_job_by_kind or aa_job_by_tenant for pairs whose bucket is in use
with ${inTurn('aa_job_by_kind_priority')},
ahead as materialized (
  select h.* from begun, unnest($4::text[]) k(kind)
   cross join lateral (
     select j.id, j.ctid as tid, j.priority, j.available_at, row_number() over () as place
       from (
         select j.id, j.ctid, j.priority, j.available_at
           from mdm.aa_job j
          where j.lane = 0 and (j.job_kind, j.priority, j.available_at, j.id) > (k.kind, $9::int, ${pastTime}, $11::uuid)
            and j.job_kind <= k.kind and j.available_at <= now()
            and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text) and not $12::jsonb ? (j.job_kind || ' ' || j.tenant_id::text)
            and not $7::jsonb ? j.tenant_id::text
            and ($8::uuid[] is null or j.tenant_id = any ($8))
          order by j.job_kind, j.priority, j.available_at, j.id
          limit ${depth}) j) h),
bound as (select priority, available_at, id from ahead where place = ${depth} order by priority, available_at, id limit 1),
picked as materialized (
  select t.id, l.tid
    from (
      (select id, tid, priority, available_at from ahead)
      union all
      -- No more of a pair than its bucket holds tokens for.
      (select h.*
         from jsonb_each_text($12::jsonb) b(pair, most)
        cross join lateral (select split_part(b.pair, ' ', 1) as kind, split_part(b.pair, ' ', 2)::uuid as tenant_id) o
        cross join lateral (
          select j.id, j.ctid as tid, j.priority, j.available_at
            from mdm.aa_job j
           where j.lane = 0 and j.job_kind = o.kind and j.tenant_id >= o.tenant_id and j.tenant_id <= o.tenant_id and j.available_at <= now()
           order by j.tenant_id, j.priority, j.available_at, j.id
           limit b.most::int) h
        where (select true from begun) and o.kind = any ($4::text[]) and not $6::jsonb ? b.pair and not $7::jsonb ? o.tenant_id::text and ($8::uuid[] is null or o.tenant_id = any ($8)))
       order by priority, available_at, id) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   where not exists (select from bound) or (t.priority, t.available_at, t.id) <= (select priority, available_at, id from bound)
   limit $5::int),
${metOnTheWay('aa_job_by_kind_priority', `select cardinality($4::text[]), ${depth} * cardinality($4::text[])`)},
${moveInTurn()}`,
)
