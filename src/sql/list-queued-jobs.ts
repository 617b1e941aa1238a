import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** A pending job with its due time in full; priority and id are its other sort keys. */
export type QueuedJob = JobRow & { readonly position: string }
type ByPriority = [...JobMatchParams, beyondPriority: number, beyondAt: string, beyondId: string, limit: number]

const columns = `${jobRowColumns}, j.available_at::text as position`

const byPriority = (name: string, past: '<' | '>', direction: 'desc' | 'asc') => {
  const order = (of: string, at: string) => `${of}priority ${direction}, ${of}${at} ${direction}, ${of}id ${direction}`
  const beyond = `(j.priority, j.available_at, j.id) ${past} ($22::int, $23::timestamptz, $24::uuid)`
  return statement<ByPriority, QueuedJob>(
    name,
    `-- reads pending jobs by priority, then due time: due ones tenant by tenant on aa_job_by_tenant, waiting ones on aa_job_waiting
select queued.*
  from ((select page.*
           from unnest(coalesce($1::uuid[], array(select t.id from mdm.aa_tenant t))) tenant(id)
          cross join lateral (
            select ${columns}
              from mdm.aa_job j
             where j.lane = 0 and j.tenant_id = tenant.id and ${beyond} and ${jobMatches}
             order by ${order('j.', 'available_at')}
             limit $25) page)
        union all
        (select ${columns}
           from mdm.aa_job j
          where j.lane = 1 and ${beyond} and ${jobMatches}
          order by ${order('j.', 'available_at')}
          limit $25)) queued
 order by ${order('queued.', '"availableAt"')}
 limit $25`,
  )
}

const byDueTime = (name: string, past: '<' | '>', direction: 'desc' | 'asc') => {
  const lane = (number: 0 | 1) => `(select ${columns}
           from mdm.aa_job j
          where j.lane = ${number} and (j.available_at, j.id) ${past} ($22::timestamptz, $23::uuid) and ${jobMatches}
          order by j.available_at ${direction}, j.id ${direction}
          limit $24)`
  return statement<[...JobMatchParams, beyondAt: string, beyondId: string, limit: number], QueuedJob>(
    name,
    `-- reads pending jobs by due time: waiting ones on aa_job_waiting, of due ones all that match on the queue's indexes
select queued.*
  from (${lane(0)}
        union all
        ${lane(1)}) queued
 order by queued."availableAt" ${direction}, queued.id ${direction}
 limit $24`,
  )
}

export const listQueuedJobsFirst = byPriority('list_queued_jobs_first', '>', 'asc')
export const listQueuedJobsLast = byPriority('list_queued_jobs_last', '<', 'desc')
export const listQueuedJobsSoonest = byDueTime('list_queued_jobs_soonest', '>', 'asc')
export const listQueuedJobsLatest = byDueTime('list_queued_jobs_latest', '<', 'desc')
