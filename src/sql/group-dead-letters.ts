import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { statement } from './statement.ts'

/** Dead letters with something in common. */
export interface DeadLetterGroupRow {
  /** Null: not grouped by. */
  readonly kind: string | null
  readonly tenantId: string | null
  /** Null: not grouped by; '': the failures left none. */
  readonly fingerprint: string | null
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** One of them. */
  readonly sampleId: string
  /** Deaths in each of the last 24 hours, oldest first. */
  readonly history: number[]
}

const hours = Array.from({ length: 24 }, (_, index) => 23 - index)

export const groupDeadLetters = statement<
  [...JobMatchParams, byKind: boolean, byTenant: boolean, byError: boolean, limit: number],
  DeadLetterGroupRow
>(
  'group_dead_letters',
  `-- reads what the dead-letter queue died of, the largest groups first; on aa_job_dead or aa_job_dead_by_tenant
with hourly as (
  select case when $22::boolean then j.job_kind end as job_kind, case when $23::boolean then j.tenant_id end as tenant_id,
         case when $24::boolean then coalesce(j.error_fingerprint, '') end as fingerprint,
         floor(extract(epoch from now() - j.dead_at) / 3600) as hours_ago,
         count(*) as jobs, min(j.dead_at) as first_at, max(j.dead_at) as last_at, max(j.id::text) as newest
    from mdm.aa_job j
   where j.dead_at is not null and j.dead_at > '-infinity' and j.dead_at < 'infinity'
     and ${jobMatches}
   group by 1, 2, 3, 4)
select job_kind as kind, tenant_id as "tenantId", fingerprint, sum(jobs)::float8 as count, min(first_at) as "firstAt", max(last_at) as "lastAt",
       max(newest) as "sampleId",
       array[${hours.map((ago) => `coalesce(sum(jobs) filter (where hours_ago = ${ago}), 0)`).join(', ')}]::int[] as history
  from hourly
 group by 1, 2, 3
 order by sum(jobs) desc, max(last_at) desc
 limit $25::int`,
)
