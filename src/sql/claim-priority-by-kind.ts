import { moveToRunning, type ClaimedRow, type ClaimParams } from './claim-parts.ts'
import { statement } from './statement.ts'

/**
 * The claim of pools with dispatch `priority` that are limited to some kinds: one ordered probe a kind, merged without locks, then locked
 * in that order (locks inside the probes would lock every due job). Four times the limit is looked at, so that rows locked by others are skipped.
 */
export const claimPriorityByKind = statement<[...ClaimParams, tenantIds: readonly string[] | null], ClaimedRow>(
  'claim_priority_by_kind',
  `-- pending -> running, by priority and due time, for some kinds; lives on aa_job_by_kind_priority
with picked as materialized (
  select t.id, l.tid, t.priority, t.available_at
    from (
      select h.* from unnest($4::text[]) k(kind)
       cross join lateral (
         select j.id, j.ctid as tid, j.priority, j.available_at
           from mdm.aa_job j
          where j.lane = 0 and j.job_kind = k.kind and j.available_at <= now()
            and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text) and not $7::jsonb ? j.tenant_id::text
     and ($8::uuid[] is null or j.tenant_id = any ($8))
          order by j.priority, j.available_at, j.id
          limit $5::int * 4) h
       order by h.priority, h.available_at, h.id) t
   cross join lateral (select j.ctid as tid from mdm.aa_job j where j.ctid = t.tid and j.lane = 0 for update skip locked) l
   limit $5::int),
${moveToRunning}
 order by p.priority, p.available_at, p.id`,
  { rowMode: 'array' },
)
