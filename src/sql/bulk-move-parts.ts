import type { JobStatus } from '../jobs/lifecycle.ts'

/** Parameters of every move of many jobs; from $4 on the same as of one (admin-move-parts.ts). */
export type BulkMoveParams = [
  jobIds: readonly string[],
  /** The revision of each when it matched: who has another has moved on. */
  revisions: readonly number[],
  tenantIds: readonly string[],
  actor: string,
  reason: string | null,
  requestId: string | null,
]

const targets = (condition: string): string => `
    from mdm.aa_job j
    join unnest($1::uuid[], $2::int[]) t(id, revision) on t.id = j.id
   where j.id = any ($1) and j.tenant_id = any ($3::uuid[]) and ${condition}
   order by j.id
     for update of j)`

/** The jobs that have not moved on and are in one of these statuses; locked in order of id, as all moves of many rows do. */
export const heldMany = (from: readonly JobStatus[], more = ''): string => `held as materialized (
  select j.id, j.status, j.priority, j.payload${targets(
    `j.status in (${from.map((status) => `'${status}'`).join(', ')}) and j.revision = t.revision${more}`,
  )}`

/** Those that run; $7: also those that did not run yet when they matched, and were claimed since and nothing else. */
export const heldRunningMany = (standing: string): string => `held as materialized (
  select j.id, j.claimed_at, j.available_at${targets(
    `j.status = 'running' and (${standing})
     and (j.revision = t.revision or ($7::boolean and j.revision = t.revision + 1 and j.claim_revision = j.revision))`,
  )}`
