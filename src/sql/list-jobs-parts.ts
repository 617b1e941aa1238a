import { jobMatches, type JobMatchParams } from './job-matches.ts'
import { jobRowColumns, type JobRow } from './job-row.ts'

/** A job with what stands for its place in a list: the journal's id of its birth, its death, or its due time, in full. */
export type PlacedJob = JobRow & { readonly position: string }
export type ByBirth = [...JobMatchParams, beyond: string, limit: number]
/** The job's id breaks ties. */
export type ByTime = [...JobMatchParams, beyondAt: string, beyondId: string, limit: number]
export type ByPriority = [...JobMatchParams, beyondPriority: number, beyondAt: string, beyondId: string, limit: number]

/** Which way a list goes. */
export type Direction = 'asc' | 'desc'
const past = { asc: '>', desc: '<' } as const

const born = (direction: Direction, ofTenant = '') => `select ${jobRowColumns}, a.id as position
    from mdm.aa_audit_log a
    join mdm.aa_job j on j.id = a.job_id
   where a.action = 'job_enqueued' ${ofTenant} and a.id ${past[direction]} $22::bigint
     and ${jobMatches}
   order by a.id ${direction}
   limit $23`

const dead = (direction: Direction, ofTenant = '') => `select ${jobRowColumns}, j.dead_at::text as position
    from mdm.aa_job j
   where j.dead_at is not null ${ofTenant} and (j.dead_at, j.id) ${past[direction]} ($22::timestamptz, $23::uuid)
     and ${jobMatches}
   order by j.dead_at ${direction}, j.id ${direction}
   limit $24`

export const bornOfTenants = (
  direction: Direction,
) => `-- reads jobs in the order in which they were enqueued, tenant by tenant on aa_audit_log_births
select page.*
  from unnest($1::uuid[]) tenant(id)
 cross join lateral (
  ${born(direction, 'and a.tenant_id = tenant.id')}) page
 order by page.position ${direction}
 limit $23`

export const bornOfAll = (
  direction: Direction,
) => `-- reads jobs in the order in which they were enqueued, on the journal's primary key; those named by id through their own
${born(direction)}`

export const deadOfTenants = (
  direction: Direction,
) => `-- reads dead jobs in the order of their deaths, tenant by tenant on aa_job_dead_by_tenant
select page.*
  from unnest($1::uuid[]) tenant(id)
 cross join lateral (
  ${dead(direction, 'and j.tenant_id = tenant.id')}) page
 order by page."deadAt" ${direction}, page.id ${direction}
 limit $24`

export const deadOfAll = (direction: Direction) => `-- reads dead jobs in the order of their deaths, on aa_job_dead
${dead(direction)}`

const queuedColumns = `${jobRowColumns}, j.available_at::text as position`

export const queuedByPriority = (direction: Direction) => {
  const order = (of: string, at: string) => `${of}priority ${direction}, ${of}${at} ${direction}, ${of}id ${direction}`
  const beyond = `(j.priority, j.available_at, j.id) ${past[direction]} ($22::int, $23::timestamptz, $24::uuid)`
  return `-- reads pending jobs by priority, then due time: due ones tenant by tenant on aa_job_by_tenant, waiting ones on aa_job_waiting
select queued.*
  from ((select page.*
           from unnest(coalesce($1::uuid[], array(select t.id from mdm.aa_tenant t))) tenant(id)
          cross join lateral (
            select ${queuedColumns}
              from mdm.aa_job j
             where j.lane = 0 and j.tenant_id = tenant.id and ${beyond}
               and ${jobMatches}
             order by ${order('j.', 'available_at')}
             limit $25) page)
        union all
        (select ${queuedColumns}
           from mdm.aa_job j
          where j.lane = 1 and ${beyond}
            and ${jobMatches}
          order by ${order('j.', 'available_at')}
          limit $25)) queued
 order by ${order('queued.', '"availableAt"')}
 limit $25`
}

export const queuedByDueTime = (direction: Direction) => {
  // Sorted by what stands in the row's head; only what is shown is read whole.
  const lane = (number: 0 | 1) => `(select j.id, j.available_at
           from mdm.aa_job j
          where j.lane = ${number} and (j.available_at, j.id) ${past[direction]} ($22::timestamptz, $23::uuid)
            and ${jobMatches}
          order by j.available_at ${direction}, j.id ${direction}
          limit $24)`
  return `-- reads pending jobs by due time: waiting ones on aa_job_waiting, of due ones all that match on the queue's indexes
select ${queuedColumns}
  from (${lane(0)}
        union all
        ${lane(1)}) queued
  join mdm.aa_job j on j.id = queued.id
 order by queued.available_at ${direction}, queued.id ${direction}
 limit $24`
}

export type Counting = [...JobMatchParams, limit: number]
export interface Counted {
  readonly count: number
}

/** Counts jobs that match in `from`, no further than the limit. */
export const counting = (
  index: string,
  from: string,
  where: string,
) => `-- counts jobs that match, no further than the limit, ${index}
select count(*)::int as count
  from (select 1
          from ${from}
         where ${where} and ${jobMatches}
         limit $22) found`
