import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { statement } from './statement.ts'

type Params = [...JobMatchParams, limit: number]
interface Row {
  readonly count: number
}

const counted = (name: string, lives: string, from: string, where: string) =>
  statement<Params, Row>(
    name,
    `-- counts jobs that match, no further than the limit, ${lives}
select count(*)::int as count
  from (select 1
          from ${from}
         where ${where} and ${jobMatches}
         limit $22) found`,
  )

const births = `unnest($1::uuid[]) tenant(id)
          join mdm.aa_audit_log a on a.tenant_id = tenant.id and a.action = 'job_enqueued'
          join mdm.aa_job j on j.id = a.job_id`

export const countMatchingJobs = counted('count_matching_jobs', 'tenant by tenant on aa_audit_log_births', births, 'true')
export const countAllMatchingJobs = counted('count_all_matching_jobs', 'on the table itself', 'mdm.aa_job j', 'true')
export const countDeadJobs = counted('count_dead_jobs', 'on aa_job_dead_by_tenant or aa_job_dead', 'mdm.aa_job j', 'j.dead_at is not null')
export const countQueuedJobs = counted('count_queued_jobs', "on the queue's indexes", 'mdm.aa_job j', '(j.lane = 0 or j.lane = 1)')
