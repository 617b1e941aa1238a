import { inTurn, moveInTurn, metOnTheWay, pastTime, type ClaimParams, type PriorityParams } from './claim-parts.ts'
import { claimStatement } from './claim-statement.ts'

/** The claim of pools with dispatch `priority` that serve all kinds: the seed's global order. */
export const claimPriority = claimStatement<[...ClaimParams, ...PriorityParams]>(
  'claim_priority',
  `-- pending -> running, by priority and due time; lives on aa_job_by_priority
with ${inTurn('aa_job_by_priority')},
picked as materialized (
  select j.id, j.ctid as tid
    from mdm.aa_job j
   where (select true from begun) and j.lane = 0 and (j.priority, j.available_at, j.id) > ($9::int, ${pastTime}, $11::uuid)
     and j.available_at <= now() and j.job_kind = any ($4::text[])
     and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text) and not $7::jsonb ? j.tenant_id::text
     and ($8::uuid[] is null or j.tenant_id = any ($8))
   order by j.priority, j.available_at, j.id
   limit $5::int
     for update skip locked),
${metOnTheWay('aa_job_by_priority', 'select 1, $5::int')},
${moveInTurn()}`,
)
