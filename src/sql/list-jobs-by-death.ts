import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** A job of dlq or failed with its place in the order of deaths; its id breaks ties. */
export type DeadJob = JobRow & { readonly position: string }
type Params = [...JobMatchParams, beyondAt: string, beyondId: string, limit: number]

const read = `select ${jobRowColumns}, j.dead_at::text as position
    from mdm.aa_job j
   where j.dead_at is not null`

const ofTenants = (name: string, past: '<' | '>', direction: 'desc' | 'asc') =>
  statement<Params, DeadJob>(
    name,
    `-- reads dead jobs in the order of their deaths, tenant by tenant on aa_job_dead_by_tenant
select page.*
  from unnest($1::uuid[]) tenant(id)
 cross join lateral (
  ${read} and j.tenant_id = tenant.id and (j.dead_at, j.id) ${past} ($22::timestamptz, $23::uuid)
     and ${jobMatches}
   order by j.dead_at ${direction}, j.id ${direction}
   limit $24) page
 order by page."deadAt" ${direction}, page.id ${direction}
 limit $24`,
  )

const ofAll = (name: string, past: '<' | '>', direction: 'desc' | 'asc') =>
  statement<Params, DeadJob>(
    name,
    `-- reads dead jobs in the order of their deaths, on aa_job_dead
${read} and (j.dead_at, j.id) ${past} ($22::timestamptz, $23::uuid)
     and ${jobMatches}
   order by j.dead_at ${direction}, j.id ${direction}
   limit $24`,
  )

export const listDeadJobsLatest = ofTenants('list_dead_jobs_latest', '<', 'desc')
export const listDeadJobsEarliest = ofTenants('list_dead_jobs_earliest', '>', 'asc')
export const listAllDeadJobsLatest = ofAll('list_all_dead_jobs_latest', '<', 'desc')
export const listAllDeadJobsEarliest = ofAll('list_all_dead_jobs_earliest', '>', 'asc')
