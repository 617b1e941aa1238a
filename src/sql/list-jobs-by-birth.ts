import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** A job with its place in the order: the journal's id of its birth. */
export type BornJob = JobRow & { readonly position: string }
type Params = [...JobMatchParams, beyond: string, limit: number]

const read = `select ${jobRowColumns}, a.id as position
    from mdm.aa_audit_log a
    join mdm.aa_job j on j.id = a.job_id
   where a.action = 'job_enqueued'`

const ofTenants = (name: string, past: '<' | '>', direction: 'desc' | 'asc') =>
  statement<Params, BornJob>(
    name,
    `-- reads jobs in the order in which they were enqueued, tenant by tenant on aa_audit_log_births
select page.*
  from unnest($1::uuid[]) tenant(id)
 cross join lateral (
  ${read} and a.tenant_id = tenant.id and a.id ${past} $22::bigint
     and ${jobMatches}
   order by a.id ${direction}
   limit $23) page
 order by page.position ${direction}
 limit $23`,
  )

const ofAll = (name: string, past: '<' | '>', direction: 'desc' | 'asc') =>
  statement<Params, BornJob>(
    name,
    `-- reads jobs in the order in which they were enqueued, on the journal's primary key; those named by id through their own
${read} and a.id ${past} $22::bigint
     and ${jobMatches}
   order by a.id ${direction}
   limit $23`,
  )

export const listJobsNewest = ofTenants('list_jobs_newest', '<', 'desc')
export const listJobsOldest = ofTenants('list_jobs_oldest', '>', 'asc')
export const listAllJobsNewest = ofAll('list_all_jobs_newest', '<', 'desc')
export const listAllJobsOldest = ofAll('list_all_jobs_oldest', '>', 'asc')
