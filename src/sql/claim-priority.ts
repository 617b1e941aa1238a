import { moveToRunning, type ClaimedRow, type ClaimParams } from './claim-parts.ts'
import { statement } from './statement.ts'

/** The claim of pools with dispatch `priority` that serve all kinds: the seed's global order. */
export const claimPriority = statement<[...ClaimParams, tenantIds: readonly string[] | null], ClaimedRow>(
  'claim_priority',
  `-- pending -> running, by priority and due time; lives on aa_job_by_priority
with picked as materialized (
  select j.id, j.ctid as tid, j.priority, j.available_at
    from mdm.aa_job j
   where j.lane = 0 and j.available_at <= now() and j.job_kind = any ($4::text[])
     and not $6::jsonb ? (j.job_kind || ' ' || j.tenant_id::text) and not $7::jsonb ? j.tenant_id::text
     and ($8::uuid[] is null or j.tenant_id = any ($8))
   order by j.priority, j.available_at, j.id
   limit $5::int
     for update skip locked),
${moveToRunning}
 order by p.priority, p.available_at, p.id`,
  { rowMode: 'array' },
)
